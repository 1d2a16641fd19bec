"""Entries of a flight's journal, and the other state of a flight when a worker picks it up."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from sluice.jobs.submission import JSON


class Direction(StrEnum):
    DO = "do"
    #: A do has failed, or the flight was aborted. It is undone from this entry on.
    SWITCH = "switch"
    UNDO = "undo"


class Mark(StrEnum):
    """Result of an entry's step."""

    #: The step is done. For a switch: its do has failed.
    DONE = "done"
    #: One pass is done, and the same step runs again.
    AGAIN = "again"
    #: The step is done, and the next step waits.
    AWAITS = "awaits"
    #: The awaited event has arrived, or the wait has ended without it.
    CAME = "came"
    #: The undo has failed. The next worker that picks up the flight tries the same undo again.
    DISMAL = "dismal"
    #: The undo has failed, and an operator has declared it done.
    FORCED = "forced"


class Failure(Struct, frozen=True, kw_only=True):
    """Reason why a ``step``, given by its name, has failed. An exception keeps its type, and its traceback from the
    first frame of user code.
    """

    type: str
    message: str
    traceback: str = ""
    step: str = ""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class Await(Struct, frozen=True, kw_only=True):
    """Condition for which the next step waits. Without an ``event``, any event or resume ends the wait."""

    event: str | None = None
    within_s: float | None = None
    otherwise: Literal["undo", "go_on"] = "undo"


class Entry(Struct, frozen=True, kw_only=True):
    """Entry of the journal.

    ``seq`` counts from 1 without gaps. ``step`` is the index of the step among ``steps`` steps, and ``name`` its name.
    ``working`` is the complete working map. ``failure`` belongs to a switch or to a failed undo. ``event`` is the
    ``Event.id`` of the event that ended a wait. ``note`` names the operator of a forced undo, with the operator's note.
    """

    seq: int
    step: int
    name: str
    steps: int
    direction: Direction
    mark: Mark = Mark.DONE
    working: Mapping[str, JSON] = {}
    awaits: Await | None = None
    event: int | None = None
    failure: Failure | None = None
    note: str | None = None


class Event(Struct, frozen=True, kw_only=True):
    """Event sent to a flight. ``name`` is None for a plain resume, which ends any wait. ``taken`` is true if an
    entry of the journal shows that it has ended a wait.
    """

    id: int
    name: str | None
    payload: JSON = None
    taken: bool = False

    def ends(self, awaits: Await) -> bool:
        """Return whether the event ends this wait."""
        return not self.taken and (self.name is None or awaits.event in {None, self.name})


class Log(Struct, frozen=True, kw_only=True):
    """State of a flight when a worker picks it up.

    ``last`` is the last entry, ``names`` the names of all steps that have an entry. ``failure`` is the reason of its
    switch to undo, if it has one. ``events`` are the events so far, in order of arrival. ``overdue``: the last entry
    awaits, and its time is over. ``turn_back`` is the abort reason, if it was aborted. ``taken_up``: a worker has
    picked it up before, so its first do may have run without an entry.
    """

    last: Entry | None = None
    names: Mapping[int, str] = {}
    failure: Failure | None = None
    events: tuple[Event, ...] = ()
    overdue: bool = False
    turn_back: str | None = None
    taken_up: bool = False

    @property
    def has_begun(self) -> bool:
        """True if a step may have had any effect."""
        return self.last is not None or self.taken_up


class Heard(Struct, frozen=True, kw_only=True):
    """Reply of the journal to an entry or a request. If the claim no longer stands, nothing was written, and the run
    ends.
    """

    stands: bool
    turn_back: str | None = None
