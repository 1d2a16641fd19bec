"""Rehearsal of flights in memory, with every possible fault.

A ``Rehearsal`` is one flight in memory, with the requested faults. No real time passes. A worker can die at any moment.
But the outside world and the journal change only with a call of a do or an undo, or with an entry. After each of these
moments a worker can be made to die. Partial execution of a step is not simulated.

``Everywhere`` generates all possible flights with at most one fault, and each of them again with the death of a worker
at each moment. The faults are a do that fails, a wait that times out, and an undo that fails after the last do has
failed. Each flight is checked for remaining effects.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.model.job import RunContext
from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.answers import Fatal
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.journal import (
    Await,
    Direction,
    EntryResult,
    Failure,
    JournalEntry,
    JournalReply,
    JournalTransaction,
    MemoryJournal,
)
from sluice.jobs.sagas.result import FlightEnd, RunEnd
from sluice.jobs.sagas.run import fly
from sluice.jobs.sagas.spec import Saga

#: Maximum number of runs, calls or entries of a flight. A flight that exceeds it does not end.
ROUNDS_MAX = 10_000
#: Seconds that each call of a step takes by the rehearsal's clock, so that code that waits for time to pass ends.
_CALL_S = 1.0
_CHANCE = 0.5


class StepCall(Struct, frozen=True):
    """Do or undo that has run its body."""

    direction: Direction
    step: int
    name: str

    def __str__(self) -> str:
        return f"{self.direction} {self.name}"


class RehearsalFaults(Struct, frozen=True, kw_only=True):
    """Faults of one rehearsal.

    The do of the step with index ``do`` fails at each call. The undo of the step with index ``undo`` fails at its first
    call. They fail after they have run, or before if ``do_unrun`` or ``undo_unrun`` is set. With ``silent``, each wait
    that has a timeout times out. The worker dies at the moment ``dies_at``, counted from 1.
    """

    do: int | None = None
    undo: int | None = None
    do_unrun: bool = False
    undo_unrun: bool = False
    silent: bool = False
    dies_at: int | None = None


class StandIns(Struct, frozen=True):
    """Payloads of the events that the flights of a test wait for, by name, and the connection of their transactions."""

    events: Mapping[str, JSON] = {}
    connection: Any = None


class WorkerDied(BaseException):
    """Raised when the simulated worker is dead. None of its later actions has an effect."""


class Rehearsal:
    """One rehearsed flight.

    ``calls`` are the bodies that ran and ``moments`` the names of the moments that have passed, both in order.
    ``by_hand`` counts how often a failed undo was retried by an operator, which happens only if the trouble is a failed
    undo.
    """

    def __init__(
        self,
        saga: Saga,
        claimed: RunContext,
        *,
        stand_ins: StandIns,
        blame: Callable[[BaseException], Failure],
        call: Callable[[Callable[..., Any], Any], object],
        log: logging.Logger,
        debug: Debug,
        trouble: RehearsalFaults,
    ) -> None:
        self.journal = _Watched(self, stand_ins.connection)
        self.calls: list[StepCall] = []
        self.moments: list[str] = []
        self.by_hand = 0
        self._saga = saga
        self._claimed = claimed
        self._events = stand_ins.events
        self._blame = blame
        self._call = call
        self._log = log
        self._debug = debug
        self._trouble = trouble
        self._now_s = 0.0
        self._dead = False
        self._failure: Fatal | None = None
        self._times: dict[str, int] = {}

    def fly(self) -> RunEnd:
        """Make runs until the flight has ended."""
        for _ in range(ROUNDS_MAX):
            landing = self._run()
            if landing is not None and self._has_ended(landing):
                return landing
        raise AssertionError(f"the flight has not ended after {ROUNDS_MAX:,} runs")

    def is_taken_back(self) -> RunEnd:
        """Undo the whole flight although nothing has failed, without any fault during the undo."""
        last = self.journal.entries[-1]
        why = Failure(type="Rehearsed", message="the successful flight is undone", step=last.name)
        self.journal.entries.append(
            JournalEntry(
                seq=last.seq + 1,
                step=last.step,
                name=last.name,
                steps=last.steps,
                direction=Direction.SWITCH,
                working=last.working,
                failure=why,
            )
        )
        self._trouble = RehearsalFaults()
        return self.fly()

    def lives(self) -> None:
        if self._dead:
            raise WorkerDied
        if len(self.moments) > ROUNDS_MAX:
            raise AssertionError(f"the flight has not ended after {ROUNDS_MAX:,} calls and entries")

    def may_commit(self) -> None:
        """Raise the failure of the running step, if it fails after it has run. So its writes are rolled back."""
        if self._failure is not None:
            raise self._failure

    def passes(self, moment: str) -> None:
        """Record that a moment has passed, under a unique name."""
        times = self._times[moment] = self._times.get(moment, 0) + 1
        self.moments.append(moment if times == 1 else f"{moment}, time {times}")
        self._dead = self._dead or len(self.moments) == self._trouble.dies_at

    def _run(self) -> RunEnd | None:
        """Make one run. Return None if its worker dies."""
        self._dead = False
        means = Means(
            journal=self.journal,
            clock_s=lambda: self._now_s,
            chance=lambda: _CHANCE,
            pause=self._sleeps,
            stopped=self._is_stopped,
            over_time=lambda: None,
            call=self._calls,
            blame=self._blame,
        )
        try:
            return fly(self._saga, self._claimed, means, logger=self._log, debug=self._debug)
        except WorkerDied:
            return None

    def _has_ended(self, landing: RunEnd) -> bool:
        if landing.how is FlightEnd.SUSPENDED and landing.awaits is not None:
            self._answer(landing.awaits)
        if landing.how is FlightEnd.UNDO_FAILED and self._trouble.undo is not None and not self.by_hand:
            self.by_hand += 1
            return False
        return landing.how in {FlightEnd.SUCCEEDED, FlightEnd.UNDONE, FlightEnd.UNDO_FAILED}

    def _answer(self, awaits: Await) -> None:
        self.journal.overdue = self._trouble.silent and awaits.within_s is not None
        if not self.journal.overdue:
            self.journal.tell(awaits.event, self._events.get(awaits.event or ""))

    def _sleeps(self, pause_s: float) -> bool:
        self.lives()
        self._now_s += pause_s
        return False

    def _is_stopped(self) -> bool:
        self.lives()
        return False

    def _calls(self, function: Callable[..., Any], flight: Flight) -> object:
        """Call a step. The worker does not die in here, because that would look like a failed step. But a dead worker's
        answers do not count.
        """
        call = StepCall(Direction.UNDO if flight.undoing else Direction.DO, flight.step, flight.step_name)
        fails, unrun = self._fails(call)
        self._now_s += _CALL_S
        answer: object = None
        self._failure = Fatal(f"{call} fails in this rehearsal") if fails else None
        try:
            if not (fails and unrun):
                self.calls.append(call)
                answer = self._call(function, flight)
        finally:
            self.passes(f"{call} has run")
        return self._failure or answer

    def _fails(self, call: StepCall) -> tuple[bool, bool]:
        """Return whether the call fails, and whether it then fails before it runs."""
        trouble = self._trouble
        if call.direction is Direction.DO:
            return call.step == trouble.do, trouble.do_unrun
        failed = any(entry.result is EntryResult.UNDO_FAILED for entry in self.journal.entries)
        return call.step == trouble.undo and not failed, trouble.undo_unrun


class _Watched(MemoryJournal):
    """Journal that does nothing for a dead worker."""

    def __init__(self, rehearsal: Rehearsal, connection: Any) -> None:
        super().__init__(connection)
        self._rehearsal = rehearsal

    def write(self, entry: JournalEntry) -> JournalReply:
        self._rehearsal.lives()
        heard = super().write(entry)
        self._rehearsal.passes(f"the journal has {entry.direction} {entry.name}: {entry.result}")
        self._rehearsal.lives()
        return heard

    @contextmanager
    def transaction(self) -> Iterator[JournalTransaction]:
        self._rehearsal.lives()
        with super().transaction() as opened:

            def write(entry: JournalEntry) -> JournalReply:
                self._rehearsal.may_commit()
                return opened.write(entry)

            yield JournalTransaction(opened.connection, write)

    def heed(self) -> JournalReply:
        self._rehearsal.lives()
        return super().heed()


SUCCEEDED, UNDONE, FATAL = "succeeded", "undone", "fatal"
_ENDINGS = {FlightEnd.SUCCEEDED: SUCCEEDED, FlightEnd.UNDONE: UNDONE, FlightEnd.UNDO_FAILED: FATAL}


class Flown(Struct, frozen=True, kw_only=True):
    """One flight of a test."""

    #: ``succeeded``, ``undone``, or ``fatal`` if an undo has failed.
    ending: str
    #: Calls that ran, in order: ``do Reserve``, ``undo Reserve``.
    calls: tuple[str, ...]
    #: Final working map.
    working: Mapping[str, JSON]
    #: Reason why the flight has not succeeded.
    error: str | None
    #: Amount done and total, by the name of the meter.
    meters: Mapping[str, tuple[int, int | None]]
    #: Description of the injected fault.
    what: str = "nothing goes wrong"
    #: State that the flight has left, as the argument ``left_behind`` of ``fly_everywhere`` returns it.
    left_behind: Any = None
    #: Defect that was found. None if there is none.
    trouble: str | None = None

    def __str__(self) -> str:
        return f"{self.what}: {self.trouble or self.ending} ({', '.join(self.calls)})"


class Report(Struct, frozen=True):
    """Flights of ``fly_everywhere``."""

    #: All flights, in the order in which they ran.
    flights: tuple[Flown, ...]

    @property
    def troubles(self) -> list[str]:
        """The defects found, one line per flight."""
        return [str(flown) for flown in self.flights if flown.trouble]

    def __str__(self) -> str:
        return "\n".join([f"{len(self.flights)} flights, {len(self.troubles)} in trouble", *self.troubles])


class Everywhere:
    """Generator of the flights. ``rehearse`` creates a rehearsal with the given trouble."""

    def __init__(
        self,
        rehearse: Callable[[RehearsalFaults], Rehearsal],
        left_behind: Callable[[], Any],
        reset: Callable[[], object],
    ) -> None:
        self._rehearse = rehearse
        self._left_behind = left_behind
        self._reset = reset

    def flights(self) -> Iterator[Flown]:
        plain = self._rehearse_once(RehearsalFaults(), "nothing goes wrong")
        yield from self._with_deaths(plain)
        begun = {call.step: call.name for call in plain.calls if call.direction is Direction.DO}
        for step, name in begun.items():
            for unrun in (True, False):
                what = f"do {name} fails {_when(unrun=unrun)}"
                trouble = RehearsalFaults(do=step, do_unrun=unrun)
                yield from self._with_deaths(self._rehearse_once(trouble, what, ending=UNDONE))
        if plain.waits_in_time:
            yield from self._with_deaths(
                self._rehearse_once(
                    RehearsalFaults(silent=True), "the event that it waits for does not arrive"
                )
            )
        if begun:
            yield from self._with_undos_failing(max(begun), begun)

    def _with_undos_failing(self, last: int, begun: Mapping[int, str]) -> Iterator[Flown]:
        """Yield flights in which the last do fails, and each undo fails in turn."""
        for step, name in begun.items():
            for unrun in (True, False):
                what = f"do {begun[last]} fails, and undo {name} {_when(unrun=unrun)}"
                trouble = RehearsalFaults(do=last, undo=step, undo_unrun=unrun)
                yield from self._with_deaths(self._rehearse_once(trouble, what, ending=UNDONE))

    def _with_deaths(self, base: "_Rehearsed") -> Iterator[Flown]:
        """Yield this flight, and the same flight with a worker that dies at each of its moments."""
        yield base.flown
        for number, moment in enumerate(base.moments, start=1):
            trouble = replace(base.trouble, dies_at=number)
            what = f"{base.flown.what}, and a worker dies when {moment}"
            yield self._rehearse_once(trouble, what, ending=base.flown.ending, like=base).flown

    def _rehearse_once(
        self,
        trouble: RehearsalFaults,
        what: str,
        *,
        ending: str | None = None,
        like: "_Rehearsed | None" = None,
    ) -> "_Rehearsed":
        """Run one flight and record a defect in it.

        Defects are: a different ``ending``, effects that remain after an undo, and a success with effects that differ
        from those after the flight ``like``.
        """
        self._reset()
        before = self._there()
        rehearsal = self._rehearse(trouble)
        flown = replace(flown_in(rehearsal, rehearsal.fly()), what=what, left_behind=self._there())
        calls, moments = tuple(rehearsal.calls), tuple(rehearsal.moments)
        wrong = _ended_wrong(flown, ending)
        if flown.ending == UNDONE:
            wrong = wrong or _left(flown.left_behind, before, "it left behind")
        elif flown.ending == SUCCEEDED:
            should_be = flown.left_behind if like is None else like.flown.left_behind
            wrong = wrong or _left(flown.left_behind, should_be, "it left")
            wrong = self._taken_back(rehearsal, before) or wrong
        waits_in_time = any(
            each.awaits and each.awaits.within_s is not None for each in rehearsal.journal.entries
        )
        return _Rehearsed(trouble, replace(flown, trouble=wrong), calls, moments, waits_in_time)

    def _taken_back(self, rehearsal: Rehearsal, before: Any) -> str | None:
        if not rehearsal.journal.entries:
            return None
        back = flown_in(rehearsal, rehearsal.is_taken_back())
        return _ended_wrong(back, UNDONE) or _left(
            self._there(), before, "undone after its success, it left behind"
        )

    def _there(self) -> Any:
        """Return a copy of the remaining effects, because the next flight may change the same object."""
        return deepcopy(self._left_behind())


class _Rehearsed(Struct, frozen=True):
    trouble: RehearsalFaults
    flown: Flown
    calls: tuple[StepCall, ...]
    moments: tuple[str, ...]
    waits_in_time: bool


def flown_in(rehearsal: Rehearsal, landing: RunEnd) -> Flown:
    """Return the result of a rehearsal."""
    entries = rehearsal.journal.entries
    why = landing.trouble or landing.failure
    return Flown(
        ending=_ENDINGS[landing.how],
        calls=tuple(map(str, rehearsal.calls)),
        working=entries[-1].working if entries else {},
        error=None if why is None else f"{why.step}: {why}" if why.step else str(why),
        meters=dict(rehearsal.journal.meters),
    )


def _when(*, unrun: bool) -> str:
    return "before it has any effect" if unrun else "after it has run"


def _ended_wrong(flown: Flown, ending: str | None) -> str | None:
    if flown.ending == FATAL:
        return f"it cannot be undone: {flown.error}"
    return None if flown.ending == (ending or flown.ending) else f"it is {flown.ending} instead of {ending}"


def _left(there: Any, should_be: Any, what: str) -> str | None:
    return None if there == should_be else f"{what} {there!r} instead of {should_be!r}"
