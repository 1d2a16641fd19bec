"""A rehearsal: one flight in memory, in which goes wrong what is asked for. No time passes in it.

A worker can die at any moment; but what is there afterwards, in the world and in the journal, only changes with each
call of a do or an undo and with each entry. So these are the moments: after each of them a worker can be made to die.
What a step does half way is the step's own matter.
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

#: A flight that comes to more runs, calls or entries than these goes round in a circle.
ROUNDS_MAX = 10_000
#: Each call of a step takes so long, by the clock of the rehearsal, so that whoever counts time comes to an end.
_CALL_S = 1.0
_CHANCE = 0.5


class Call(Struct, frozen=True):
    """A do or an undo whose body has run."""

    direction: Direction
    step: int
    name: str

    def __str__(self) -> str:
        return f"{self.direction} {self.name}"


class Trouble(Struct, frozen=True, kw_only=True):
    """What goes wrong. The do of the step at the index ``do`` fails, each time that it is called, and the undo of the
    one at ``undo``, the first time: having run before it does or, where ``do_unrun`` or ``undo_unrun``, without. A
    ``silent`` world lets each wait time out that can. The worker dies at the moment ``dies_at``, counted from 1."""

    do: int | None = None
    undo: int | None = None
    do_unrun: bool = False
    undo_unrun: bool = False
    silent: bool = False
    dies_at: int | None = None


class Died(BaseException):
    """The worker is no more: nothing that it wanted to do is done."""


class Rehearsal:
    """``calls`` are the bodies that ran and ``moments`` what was over at each, both in order. ``by_hand`` counts how
    often somebody had an undo that had failed tried again, which happens only where that is the trouble."""

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
        """Run after run, to the end of the flight."""
        for _ in range(ROUNDS_MAX):
            landing = self._run()
            if landing is not None and self._has_ended(landing):
                return landing
        raise AssertionError(f"the flight has not ended after {ROUNDS_MAX:,} runs")

    def is_taken_back(self) -> Landing:
        """Fly it all the way back though nothing has failed, and let nothing go wrong on that way."""
        last = self.journal.entries[-1]
        why = Failure(type="Rehearsed", message="what has succeeded is taken back", step=last.name)
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
        """Something is over, by a name of its own."""
        times = self._times[moment] = self._times.get(moment, 0) + 1
        self.moments.append(moment if times == 1 else f"{moment}, time {times}")
        self._dead = self._dead or len(self.moments) == self._trouble.dies_at

    def _run(self) -> Landing | None:
        """One run; None where its worker dies."""
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
        """Nobody dies in here, where it would look like a step that fails: but nothing that is answered counts then."""
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
        """Whether it does, and then without having run."""
        trouble = self._trouble
        if call.direction is Direction.DO:
            return call.step == trouble.do, trouble.do_unrun
        failed = any(entry.mark is Mark.DISMAL for entry in self.journal.entries)
        return call.step == trouble.undo and not failed, trouble.undo_unrun


class _Watched(MemoryJournal):
    """Does nothing for the dead."""

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
