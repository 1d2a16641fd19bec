"""What is known of a job that there is."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import State


# A plan asks for hundreds of thousands, and none can be part of a cycle: the collector need not look at them.
class Known(Struct, frozen=True, gc=False):
    """A job in the state it had when somebody looked; ``id`` is 0 where that was not the ledger.

    What is more is looked up only where inputs may be too old (``max_lag``): when it came to its state, the claim of
    its last run, and what a job that waits ``lacks``: the parents whose success, under this claim, was too old when it
    was planned, and who have not run since.
    """

    id: int
    app: str
    key: str
    state: State
    since: datetime | None = None
    claim: int = 0
    lacks: Sequence[tuple[JobName, int]] = ()

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)
