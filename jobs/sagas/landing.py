"""How one run of a flight has ended."""

from enum import StrEnum

from msgspec import Struct

from sluice.jobs.sagas.entry import Await, Failure

#: So it stands in the logs, to be found.
DISMAL_FAILURE = "DISMAL FAILURE"


class Landed(StrEnum):
    #: All steps are done.
    SUCCEEDED = "succeeded"
    #: A do has failed, or the flight was called off, and all is undone.
    UNDONE = "undone"
    #: An undo has failed: what it and those before it have done is still there.
    DISMAL = "dismal"
    #: The next step waits, and no worker with it.
    SUSPENDED = "suspended"
    #: Whoever takes the flight up goes on with it.
    HANDED_BACK = "handed back"
    #: Somebody else has the flight.
    LOST = "lost"


class Landing(Struct, frozen=True, kw_only=True):
    """``failure`` is why the flight is undone; ``trouble``, of a dismal one, what has kept it from that."""

    how: Landed
    failure: Failure | None = None
    trouble: Failure | None = None
    awaits: Await | None = None
