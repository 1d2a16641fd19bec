"""Known state of an existing job."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import State


# A plan reads hundreds of thousands. None can be part of a cycle, so the garbage collector need not track them.
class Known(Struct, frozen=True, gc=False):
    """A job and its state when it was read. ``id`` is 0 if it was not read from the ledger.

    The other fields are read only if inputs may be too old (``max_lag``). ``since`` is the time of its last change of
    state, ``claim`` the claim of its last run. ``lacks`` are the stale parents of a waiting job: their success under
    this claim was too old when the job was planned, and they have not run since.
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
