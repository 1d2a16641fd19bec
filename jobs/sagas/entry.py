"""What a flight's journal holds, and what else is known of a flight when it is taken up."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from sluice.jobs.submission import JSON


class Direction(StrEnum):
    DO = "do"
    #: A do has failed, or the flight was called off: from here on it is undone.
    SWITCH = "switch"
    UNDO = "undo"


class Mark(StrEnum):
    """What an entry says of its step."""

    #: The step is over; for a switch, its do has failed.
    DONE = "done"
    #: One pass is over, and the same step runs again.
    AGAIN = "again"
    #: The step is over, and the next waits.
    AWAITS = "awaits"
    #: What was waited for is there, or need not come any more.
    CAME = "came"
    #: The undo has failed. Whoever takes the flight up tries this very undo again.
    DISMAL = "dismal"
    #: The undo has failed, and somebody says that it is done all the same.
    FORCED = "forced"


class Failure(Struct, frozen=True, kw_only=True):
    """Why a ``step``, by its name, has failed. What was raised keeps its type, and its traceback from the user's own
    code on."""

    type: str
    message: str
    traceback: str = ""
    step: str = ""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class Await(Struct, frozen=True, kw_only=True):
    """What the next step waits for. Without an ``event``, for anybody to say that it goes on."""

    event: str | None = None
    within_s: float | None = None
    otherwise: Literal["undo", "go_on"] = "undo"


class Entry(Struct, frozen=True, kw_only=True):
    """One line of the journal. ``seq`` counts from 1 without gaps. ``step`` is the index of the step, which had this
    ``name`` and was one of so many ``steps``. ``working`` is the whole of the working map. ``failure`` is of a switch
    or of a dismal undo; ``event`` is the event that has come, by its ``Event.id``; ``note`` says who forced it.
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
    """Something that was said to a flight. ``name`` is None where somebody said no more than that it goes on; that
    ends any wait. ``taken``: an entry of the journal says that it has ended a wait."""

    id: int
    name: str | None
    payload: JSON = None
    taken: bool = False

    def ends(self, awaits: Await) -> bool:
        """Whether it is what is waited for."""
        return not self.taken and (self.name is None or awaits.event in {None, self.name})


class Log(Struct, frozen=True, kw_only=True):
    """A flight as it is found: the ``last`` entry, the ``names`` of all steps that have one, the ``failure`` of its
    switch to undo if there was one, and the ``events`` so far, in the order in which they came. ``overdue``: the last
    entry awaits, and its time is up. ``turn_back`` says why the flight was called off, where it was. ``taken_up``: it
    was before, so its first do may have run, though no entry says so."""

    last: Entry | None = None
    names: Mapping[int, str] = {}
    failure: Failure | None = None
    events: tuple[Event, ...] = ()
    overdue: bool = False
    turn_back: str | None = None
    taken_up: bool = False

    @property
    def has_begun(self) -> bool:
        """Whether a step may have done anything."""
        return self.last is not None or self.taken_up


class Heard(Struct, frozen=True, kw_only=True):
    """The journal's answer to an entry, or to a question. Where the claim does not stand any more, nothing was
    written, and the run is over."""

    stands: bool
    turn_back: str | None = None
