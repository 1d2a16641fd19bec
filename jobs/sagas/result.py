"""End of one run of a flight."""

from enum import StrEnum

from msgspec import Struct

from sluice.jobs.sagas.journal import Await, Failure

#: Text that marks a failed undo in the logs, so that it can be searched for.
DISMAL_FAILURE = "DISMAL FAILURE"


class FlightEnd(StrEnum):
    #: All steps are done.
    SUCCEEDED = "succeeded"
    #: A do has failed, or the flight was aborted, and all steps are undone.
    UNDONE = "undone"
    #: An undo has failed. Its effects and the effects of earlier steps remain.
    UNDO_FAILED = "undo_failed"
    #: The next step waits, without a worker.
    SUSPENDED = "suspended"
    #: The next worker that picks up the flight continues it.
    HANDED_BACK = "handed back"
    #: Another claim has the flight.
    LOST = "lost"


class RunEnd(Struct, frozen=True, kw_only=True):
    """End of one run. ``failure`` is the reason for the undo. ``trouble`` is the reason why it could not be undone."""

    how: FlightEnd
    failure: Failure | None = None
    trouble: Failure | None = None
    awaits: Await | None = None
