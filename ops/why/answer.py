"""Parts of an answer, and the remedies if no worker serves the planner, the groomer or the scheduler."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.broker.messages import CONTROL, GROOMER, SCHEDULER
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.reads.obstacles import Obstacles
from sluice.ops.text import command

#: Queues that must be served for time to pass: the groomer, and the scheduler, which sends the ticks.
TIME = (GROOMER, SCHEDULER)


class WaitsFor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Obstacle of a job, or a past event that concerns it. It has the name of a job if it is about one. Values of
    ``kind``:

        parent      a parent of the job
        landing     an external partition that has to land
        time        the time before which the job does not start
        worker      a worker that serves the queue
        slot        a thread of such a worker, which is busy
        pool        a job that holds a slot of the pool
        rate        a token of its rate limit
        queue       the jobs before it
        lease       the groomer, which takes the job back after its lease has ended
        planner     the planner
        groomer     the groomer
        submission  a submission that has to be planned
        job         the job that has to end before a submission is planned
        event       the event of a saga
        definition  definitions that have the job
        pause       a submission or an app that has to be resumed, or the trial job of a breaker
        poll        the next poll of external work
        root        the job at the upstream end of a chain of waiting jobs
        half        a piece of a split job
        lost        past: an alternative is lost
        cause       past: the cause of the job's end
        refusal     past: a submission was refused
    """

    kind: str
    what: str
    since: datetime | None = None
    app: str | None = None
    key: str | None = None
    state: State | None = None


class Remedy(Struct, frozen=True):
    """Command to paste into a shell, and its effect."""

    command: str
    effect: str


class Explanation(Struct, frozen=True, kw_only=True):
    """Explanation of a job's state. ``state`` is None if the job is not in the ledger."""

    app: str
    key: str
    state: State | None
    because: str
    since: datetime | None = None
    waits_for: tuple[WaitsFor, ...] = ()
    remedies: tuple[Remedy, ...] = ()


def in_brief(answer: Explanation) -> str:
    """Return the reason in one line, with the job or the partition that is the nearest to the cause."""
    named = {each.kind: each.what for each in reversed(answer.waits_for)}
    if "root" in named:
        return f"{answer.because}, ultimately for {named['root']}."
    parent = named.get("parent") or named.get("landing")
    return f"{answer.because}: {parent}." if parent else f"{answer.because}."


class Reason(NamedTuple):
    """Text that follows the job's name in the answer, its obstacles, and the remedies."""

    because: str
    waits_for: Sequence[WaitsFor] = ()
    remedies: Sequence[Remedy] = ()


def remedy(words: str, name: JobName, effect: str) -> Remedy:
    """Return a remedy with a command about one job."""
    return Remedy(command(words, name), effect)


def absent(facts: Obstacles, *queues: str) -> Sequence[Remedy]:
    """Return the remedies if any of these queues has no worker. Empty if all of them have one."""
    missing = [queue for queue in queues if queue in facts.unserved]
    if not missing:
        return ()
    named = "" if len(facts.unserved) == len(CONTROL) else f" --queues {','.join(facts.unserved)}"
    nobody = f"no worker serves {' and '.join(missing)}"
    return (
        Remedy("sluice up", f"starts planner, groomer, scheduler and worker: {nobody}"),
        Remedy(f"sluice worker{named}", "starts a worker that serves them"),
    )
