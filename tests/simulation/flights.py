"""Runs of flights by simulated workers: the runner and the journal of production, and time as the agenda has it."""

import random
from collections.abc import Callable
from datetime import datetime
from functools import partial
from threading import Event
from typing import Any, TypeVar

from actors.assign import assign
from actors.journaling import Journaling
from jobs.catalogue import Catalogue
from jobs.job import Assignment
from jobs.outcome import Outcome
from jobs.runners.blame import blame
from jobs.runners.ending import of_halt
from jobs.runners.limits import Halt
from jobs.runners.saga import SagaRunner
from jobs.sagas.entry import Entry, Heard, Log
from jobs.sagas.flight import Flight
from jobs.sagas.journal import Journal
from jobs.sagas.means import Means
from ledger.claims import Claimed
from tests.simulation.air import Air
from tests.simulation.crashing import Crash, CrashingLedger
from tests.simulation.network import Agenda
from tests.simulation.strands import Strand

T = TypeVar("T")


class Run:
    """One claim of a saga. Between any two things that it does, time may pass, and its process may die. ``stop`` has it
    hand the flight back; ``end`` receives its outcome; ``mortal`` is what an act of its worker is."""

    def __init__(
        self,
        claimed: Claimed,
        *,
        rng: random.Random,
        agenda: Agenda,
        ledger: CrashingLedger,
        catalogue: Catalogue,
        air: Air,
        awake_at: Callable[[], datetime],
        end: Callable[[Outcome], None],
        mortal: Callable[[Callable[[], None]], Callable[[], None]],
    ) -> None:
        self.stop = Event()
        self._claimed = claimed
        self._rng = rng
        self._agenda = agenda
        self._ledger = ledger
        self._catalogue = catalogue
        self._air = air
        self._awake_at = awake_at
        self._end = end
        self._strand = Strand(self._fly)
        self._wake = mortal(self._go_on)
        self._agenda.after(0.0, self._wake)

    def kill(self) -> None:
        self._strand.kill()

    def takes(self, seconds: float) -> None:
        """Let time pass."""
        self._agenda.after(seconds, self._wake)
        self._strand.pauses()

    def rests(self) -> None:
        """Something may happen to others here, or to its process."""
        self._strand.lives()
        if self._rng.random() < 0.4:
            self.takes(self._rng.choice((0.01, 0.5, 3.0)) * self._rng.random())
        if self._rng.random() < self._ledger.faults.crash_between:
            self._strand.dies(Crash())
            self._strand.lives()

    def mortally(self, act: Callable[[], T]) -> T:
        """What its process may die of, whoever thinks that he can catch that."""
        self._strand.lives()
        try:
            return act()
        except Crash as crash:
            self._strand.dies(crash)
            raise

    def _go_on(self) -> None:
        if self._strand.is_over:
            return
        frozen_s = (self._awake_at() - self._agenda.now).total_seconds()
        if frozen_s > 0:
            self._agenda.after(frozen_s, self._wake)
            return
        self._strand.go()

    def _fly(self) -> None:
        app = self._catalogue.app(self._claimed.app)
        assert app.saga is not None
        assignment = assign(app, self._claimed)
        self._air.takes_off(self._claimed, len(app.saga.build(None)))
        runner = SagaRunner(app.saga, self._means)
        journal = _Mortal(self, Journaling(self._ledger, self._claimed, self.stop))
        outcome = runner.run(assignment, stop=self.stop, journal=journal)
        self.rests()
        self._end(outcome)

    def _means(self, journal: Journal, assignment: Assignment, stop: Event) -> Means:
        began_s = self._agenda.elapsed_s

        def over_time() -> str | None:
            limit_s = assignment.timeout_s
            if limit_s is None or self._agenda.elapsed_s < began_s + limit_s:
                return None
            return of_halt(Halt.TIMED_OUT, limit_s)[1]

        return Means(
            journal=journal,
            clock_s=lambda: self._agenda.elapsed_s,
            chance=self._rng.random,
            pause=self._pauses,
            stopped=self._is_stopped,
            over_time=over_time,
            call=self._calls,
            blame=blame,
        )

    def _calls(self, function: Callable[..., Any], flight: Flight) -> object:
        self.rests()
        call = self._air.begin(self._claimed, function, flight)
        self.rests()
        return self._air.end(call)

    def _pauses(self, seconds: float) -> bool:
        # The agenda counts in microseconds, and whoever pauses for less than one is to find that time has passed.
        self.takes(seconds + 1e-6)
        return self.stop.is_set()

    def _is_stopped(self) -> bool:
        self._strand.lives()
        return self.stop.is_set()


class _Mortal:
    """Does nothing for the dead."""

    def __init__(self, run: Run, journal: Journal) -> None:
        self._run = run
        self._journal = journal

    def read(self) -> Log | None:
        return self._run.mortally(self._journal.read)

    def write(self, entry: Entry) -> Heard:
        self._run.rests()
        heard = self._run.mortally(partial(self._journal.write, entry))
        self._run.rests()
        return heard

    def heed(self) -> Heard:
        return self._run.mortally(self._journal.heed)

    def meter(self, name: str, done: int, total: int | None) -> None:
        self._run.mortally(partial(self._journal.meter, name, done, total))
