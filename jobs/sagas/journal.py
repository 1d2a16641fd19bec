"""Journal of a flight: its entries, its interface, and a journal in memory.

A ``Log`` is the last ``JournalEntry`` and the other state of a flight when a worker picks it up. ``Journal`` is the
interface that the run of a flight uses. A ``MemoryJournal`` is for flights without a ledger, and ends with its process.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import JSON
from sluice.jobs.own_success import rehearsed_transaction


class Direction(StrEnum):
    DO = "do"
    #: A do has failed, or the flight was aborted. It is undone from this entry on.
    SWITCH = "switch"
    UNDO = "undo"


class EntryResult(StrEnum):
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
    UNDO_FAILED = "undo_failed"
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


class JournalEntry(Struct, frozen=True, kw_only=True):
    """Entry of the journal.

    ``seq`` counts from 1 without gaps. ``step`` is the index of the step among ``steps`` steps, and ``name`` its name.
    ``working`` is the complete working map. ``failure`` belongs to a switch or to a failed undo. ``event`` is the
    ``FlightEvent.id`` of the event that ended a wait. ``note`` names the operator of a forced undo, with the operator's
    note.
    """

    seq: int
    step: int
    name: str
    steps: int
    direction: Direction
    result: EntryResult = EntryResult.DONE
    working: Mapping[str, JSON] = {}
    awaits: Await | None = None
    event: int | None = None
    failure: Failure | None = None
    note: str | None = None


class FlightEvent(Struct, frozen=True, kw_only=True):
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
    awaits, and its time is over. ``abort_reason`` is the abort reason, if it was aborted. ``taken_up``: a worker has
    picked it up before, so its first do may have run without an entry.
    """

    last: JournalEntry | None = None
    names: Mapping[int, str] = {}
    failure: Failure | None = None
    events: tuple[FlightEvent, ...] = ()
    overdue: bool = False
    abort_reason: str | None = None
    taken_up: bool = False

    @property
    def has_begun(self) -> bool:
        """True if a step may have had any effect."""
        return self.last is not None or self.taken_up


class JournalReply(Struct, frozen=True, kw_only=True):
    """Reply of the journal to an entry or a request. If the claim no longer stands, nothing was written, and the run
    ends.
    """

    stands: bool
    abort_reason: str | None = None


class JournalTransaction(NamedTuple):
    """Open transaction of a step. ``write`` adds the next entry to it and raises if the claim does not stand."""

    connection: Any
    write: Callable[[JournalEntry], JournalReply]


class Journal(Protocol):
    """Journal of one flight. Only ``transaction`` raises. If the ledger is away, calls of other methods are repeated
    until it answers, or until the claim cannot be trusted any more.
    """

    def read(self) -> Log | None:
        """Return the state of the flight, or None if another claim has it."""
        ...

    def write(self, entry: JournalEntry) -> JournalReply:
        """Write the next entry. Its ``seq`` follows the last entry. The same entry may be written again."""
        ...

    def transaction(self) -> AbstractContextManager[JournalTransaction]:
        """Open a transaction for the writes of a step and its entry. It is committed at the end of the block."""
        ...

    def heed(self) -> JournalReply:
        """Return whether the claim stands and whether the flight was aborted, without writing anything."""
        ...

    def meter(self, name: str, done: int, total: int | None) -> None:
        """Show the progress of a step. It is stored immediately, even if the step fails later."""
        ...


class MemoryJournal:
    """Journal in memory. Tests may read ``entries`` and ``meters``. ``overdue`` ends the current wait, if that has a
    timeout. ``connection`` is used by the transactions of steps.
    """

    def __init__(self, connection: Any = None) -> None:
        self.entries: list[JournalEntry] = []
        self.meters: dict[str, tuple[int, int | None]] = {}
        self.overdue = False
        self.abort_reason: str | None = None
        self._events: list[FlightEvent] = []
        self._reads = 0
        self._connection = connection

    def read(self) -> Log | None:
        self._reads += 1
        taken = {entry.event for entry in self.entries}
        last = self.entries[-1] if self.entries else None
        switches = [
            entry.failure
            for entry in self.entries
            if entry.failure and entry.result is not EntryResult.UNDO_FAILED
        ]
        return Log(
            last=last,
            names={entry.step: entry.name for entry in self.entries},
            failure=switches[-1] if switches else None,
            events=tuple(
                FlightEvent(id=event.id, name=event.name, payload=event.payload, taken=event.id in taken)
                for event in self._events
            ),
            overdue=self.overdue and _has_an_end(last),
            abort_reason=self.abort_reason,
            taken_up=self._reads > 1,
        )

    def write(self, entry: JournalEntry) -> JournalReply:
        if entry not in self.entries[-1:]:
            if entry.seq != len(self.entries) + 1:
                raise AssertionError(f"entry {entry.seq} does not follow on {len(self.entries)}")
            self.entries.append(entry)
        return self.heed()

    @contextmanager
    def transaction(self) -> Iterator[JournalTransaction]:
        if self._connection is None:
            raise BadRequest("flight.transaction() needs a database: in a test, call fly(…, connection=…).")
        written: list[JournalEntry] = []

        def write(entry: JournalEntry) -> JournalReply:
            written.append(entry)
            return self.heed()

        with rehearsed_transaction(self._connection) as connection:
            yield JournalTransaction(connection, write)
        for entry in written:
            self.write(entry)

    def heed(self) -> JournalReply:
        return JournalReply(stands=True, abort_reason=self.abort_reason)

    def meter(self, name: str, done: int, total: int | None) -> None:
        self.meters[name] = (done, total)

    def tell(self, name: str | None, payload: JSON = None) -> None:
        """Add an event."""
        self._events.append(FlightEvent(id=len(self._events) + 1, name=name, payload=payload))


def _has_an_end(last: JournalEntry | None) -> bool:
    """Return whether this entry awaits something with a timeout."""
    return last is not None and last.awaits is not None and last.awaits.within_s is not None
