"""Durations and outcomes of the jobs of a drawn world."""

from msgspec.structs import replace

from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.work import Effort
from sluice.ops.simulation.workers import Habits
from tests.simulation.expansions import DrawnExpansions

#: Largest number of jobs that a worker takes for a notification that names one. Workers take one, two, and so on.
AT_ONCE_MAX = 3


class Labour:
    """Work that is drawn for each run of each job."""

    def __init__(self, fate: FaultSource) -> None:
        self._fate = fate
        #: True if every job that begins now succeeds.
        self.succeeds = False
        self.expansions = DrawnExpansions()

    def effort(self, claimed: ClaimedJob) -> Effort:
        rng = self._fate.rng(f"the work of {claimed.name} under claim {claimed.claim}")
        seconds = rng.choice((0.01, 0.5, 3.0, 12.0)) * (0.5 + rng.random())
        acknowledged = tuple(
            (rng.random() * seconds, partition)
            for partition in claimed.partitions or ()
            if rng.random() < 0.3
        )
        outcome = Outcome(ending=Ending.DONE) if self.succeeds else _outcome(rng.random())
        if outcome.ending is Ending.DONE:
            outcome = replace(outcome, expansions=self.expansions.draw(rng, claimed))
        return Effort(seconds, lambda: outcome, acknowledged)


def habits() -> Habits:
    """Return habits by which every other worker serves an app's queue, and takes on jobs that its own jobs release.
    One worker in three also plans, and takes on jobs that it has planned."""
    return Habits(
        serves=lambda name, app: (name + len(app) + ord(app[-1])) % 2 == 0,
        at_once=lambda name: 1 + name % AT_ONCE_MAX,
        plans=lambda name: name % 3 == 0,
    )


def _outcome(drawn: float) -> Outcome:
    if drawn < 0.80:
        return Outcome(ending=Ending.DONE)
    if drawn < 0.92:
        return Outcome(ending=Ending.ERROR, error="drawn")
    if drawn < 0.96:
        return Outcome(ending=Ending.TIMED_OUT, error="drawn")
    return Outcome(ending=Ending.HANDED_BACK)
