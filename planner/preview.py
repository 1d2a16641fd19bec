"""What a submission would come to, without doing it."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from jobs.catalogue import Catalogue
from jobs.plan import PlannedJob
from jobs.ref import JobName
from jobs.states import State
from jobs.submission import Submission
from planner.merge import in_order
from planner.walk import Walk

Lookup = Callable[[list[JobName]], Mapping[JobName, State]]


class Preview(Struct, frozen=True, kw_only=True):
    """``jobs`` would be planned, in order; ``states`` holds what was known of them and of their parents."""

    jobs: tuple[PlannedJob, ...]
    states: Mapping[JobName, State]


def preview(catalogue: Catalogue, submission: Submission, lookup: Lookup) -> Preview:
    """Walk as the planner would, on what ``lookup`` says. BadRequest where the planner would refuse."""
    walk = Walk(catalogue, 0, submission)
    states: dict[JobName, State] = {}
    while not walk.arrived:
        states.update(lookup(sorted(walk.asks())))
        walk.step(states)
    return Preview(jobs=in_order(catalogue, walk.jobs()), states=states)
