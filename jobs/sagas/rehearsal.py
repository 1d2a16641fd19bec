"""Rehearsal: one flight in memory, with the requested faults. No real time passes.

A worker can die at any moment. But the state of the outside world and of the journal changes only with a call of a do
or an undo, and with an entry. After each of these moments a worker can be made to die. Partial execution of a step is
not simulated.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from sluice.jobs.job import Claimed
from sluice.jobs.sagas.answers import Fatal
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.entry import Await, Direction, Entry, Failure, Heard, Mark
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.flying import fly
from sluice.jobs.sagas.landing import Landed, Landing
from sluice.jobs.sagas.means import Means
from sluice.jobs.sagas.memory import MemoryJournal
from sluice.jobs.sagas.saga import Saga
from sluice.jobs.submission import JSON

#: Maximum number of runs, calls or entries of a flight. A flight that exceeds it does not end.
ROUNDS_MAX = 10_000
#: Seconds that each call of a step takes by the rehearsal's clock, so that code that waits for time to pass ends.
_CALL_S = 1.0
_CHANCE = 0.5


class Call(Struct, frozen=True):
    """Do or undo that has run its body."""

    direction: Direction
    step: int
    name: str

    def __str__(self) -> str:
        return f"{self.direction} {self.name}"


class Trouble(Struct, frozen=True, kw_only=True):
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


class Died(BaseException):
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
        claimed: Claimed,
        *,
        events: Mapping[str, JSON],
        blame: Callable[[BaseException], Failure],
        call: Callable[[Callable[..., Any], Any], object],
        log: logging.Logger,
        debug: Debug,
        trouble: Trouble,
    ) -> None:
        self.journal = _Watched(self)
        self.calls: list[Call] = []
        self.moments: list[str] = []
        self.by_hand = 0
        self._saga = saga
        self._claimed = claimed
        self._events = events
        self._blame = blame
        self._call = call
        self._log = log
        self._debug = debug
        self._trouble = trouble
        self._now_s = 0.0
        self._dead = False
        self._times: dict[str, int] = {}

    def fly(self) -> Landing:
        """Make runs until the flight has ended."""
        for _ in range(ROUNDS_MAX):
            landing = self._run()
            if landing is not None and self._has_ended(landing):
                return landing
        raise AssertionError(f"the flight has not ended after {ROUNDS_MAX:,} runs")

    def is_taken_back(self) -> Landing:
        """Undo the whole flight although nothing has failed, without any fault during the undo."""
        last = self.journal.entries[-1]
        why = Failure(type="Rehearsed", message="the successful flight is undone", step=last.name)
        self.journal.entries.append(
            Entry(
                seq=last.seq + 1,
                step=last.step,
                name=last.name,
                steps=last.steps,
                direction=Direction.SWITCH,
                working=last.working,
                failure=why,
            )
        )
        self._trouble = Trouble()
        return self.fly()

    def lives(self) -> None:
        if self._dead:
            raise Died
        if len(self.moments) > ROUNDS_MAX:
            raise AssertionError(f"the flight has not ended after {ROUNDS_MAX:,} calls and entries")

    def passes(self, moment: str) -> None:
        """Record that a moment has passed, under a unique name."""
        times = self._times[moment] = self._times.get(moment, 0) + 1
        self.moments.append(moment if times == 1 else f"{moment}, time {times}")
        self._dead = self._dead or len(self.moments) == self._trouble.dies_at

    def _run(self) -> Landing | None:
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
        except Died:
            return None

    def _has_ended(self, landing: Landing) -> bool:
        if landing.how is Landed.SUSPENDED and landing.awaits is not None:
            self._answer(landing.awaits)
        if landing.how is Landed.DISMAL and self._trouble.undo is not None and not self.by_hand:
            self.by_hand += 1
            return False
        return landing.how in {Landed.SUCCEEDED, Landed.UNDONE, Landed.DISMAL}

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
        call = Call(Direction.UNDO if flight.undoing else Direction.DO, flight.step, flight.step_name)
        fails, unrun = self._fails(call)
        self._now_s += _CALL_S
        answer: object = None
        try:
            if not (fails and unrun):
                self.calls.append(call)
                answer = self._call(function, flight)
        finally:
            self.passes(f"{call} has run")
        return Fatal(f"{call} fails in this rehearsal") if fails else answer

    def _fails(self, call: Call) -> tuple[bool, bool]:
        """Return whether the call fails, and whether it then fails before it runs."""
        trouble = self._trouble
        if call.direction is Direction.DO:
            return call.step == trouble.do, trouble.do_unrun
        failed = any(entry.mark is Mark.DISMAL for entry in self.journal.entries)
        return call.step == trouble.undo and not failed, trouble.undo_unrun


class _Watched(MemoryJournal):
    """Journal that does nothing for a dead worker."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        super().__init__()
        self._rehearsal = rehearsal

    def write(self, entry: Entry) -> Heard:
        self._rehearsal.lives()
        heard = super().write(entry)
        self._rehearsal.passes(f"the journal has {entry.direction} {entry.name}: {entry.mark}")
        self._rehearsal.lives()
        return heard

    def heed(self) -> Heard:
        self._rehearsal.lives()
        return super().heed()
