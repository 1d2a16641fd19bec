"""Runs of flights by simulated workers: the runner and the journal of production, with the time of the agenda."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from threading import Event
from typing import Any, TypeVar

from sluice.actors.executor.assignments import assign
from sluice.actors.executor.job_services import RunJournal
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Assignment, Outcome
from sluice.jobs.runners.run_outcome import of_halt
from sluice.jobs.runners.saga_run import SagaRunner, blame
from sluice.jobs.runners.stop_signal import Halt
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.journal import Journal, JournalEntry, JournalReply, JournalTransaction, Log
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultKind, FaultSource
from sluice.ops.simulation.fibers import Fiber
from sluice.ops.simulation.mortal_ledger import CrashingLedger, SimulatedDeath
from sluice.ops.simulation.work import Sky

T = TypeVar("T")


class FlightRun:
    """One claim of a saga. Between any two of its actions, time may pass and its process may die. Setting ``stop`` has
    the run hand back the flight. ``end`` receives the outcome. ``mortal`` wraps acts of the worker.
    """

    def __init__(
        self,
        claimed: ClaimedJob,
        *,
        fate: FaultSource,
        agenda: Agenda,
        ledger: CrashingLedger,
        catalogue: Catalogue,
        sky: Sky,
        awake_at: Callable[[], datetime],
        end: Callable[[Outcome], None],
        mortal: Callable[[Callable[[], None]], Callable[[], None]],
    ) -> None:
        self.stop = Event()
        self._claimed = claimed
        self._fate = fate
        self._agenda = agenda
        self._ledger = ledger
        self._catalogue = catalogue
        self._sky = sky
        self._whom = f"#{claimed.id} flown by claim {claimed.claim}"
        self._awake_at = awake_at
        self._end = end
        self._fiber = Fiber(self._fly)
        self._wake = mortal(self._go_on)
        self._agenda.after(0.0, self._wake, about=self._whom)

    def kill(self) -> None:
        self._fiber.kill()

    def takes(self, seconds: float) -> None:
        """Let time pass."""
        self._agenda.after(seconds, self._wake, about=self._whom)
        self._fiber.pauses()

    def rests(self) -> None:
        """Let other events happen, or the process die."""
        self._fiber.lives()
        if seconds := self._sky.rest_s(self._fate, self._claimed):
            self.takes(seconds)
        if self._fate.strikes(FaultKind.DIES_BETWEEN, self._whom, self._fate.faults.crash_between):
            self._fiber.dies(SimulatedDeath())
            self._fiber.lives()

    def mortally(self, act: Callable[[], T]) -> T:
        """Run an act that the process may die of, even if users' code catches the exception."""
        self._fiber.lives()
        try:
            with self._ledger.by(self._whom):
                return act()
        except SimulatedDeath as crash:
            self._fiber.dies(crash)
            raise

    def _go_on(self) -> None:
        if self._fiber.is_over:
            return
        frozen_s = (self._awake_at() - self._agenda.now).total_seconds()
        if frozen_s > 0:
            self._agenda.after(frozen_s, self._wake, about=self._whom)
            return
        self._fiber.go()

    def _fly(self) -> None:
        app = self._catalogue.app(self._claimed.app)
        if app.saga is None:
            raise BadRequest(f"{app.name} is no saga any more.")
        assignment = assign(app, self._claimed)
        self._sky.takes_off(self._claimed, app.saga)
        runner = SagaRunner(app.saga, self._means)
        journal = _Mortal(self, RunJournal(self._ledger, self._claimed, self.stop))
        outcome = runner.run(assignment, stop=self.stop, journal=journal)
        self.rests()
        self._end(outcome)

    def _means(self, journal: Journal, assignment: Assignment, _: Event) -> Means:
        began_s = self._agenda.elapsed_s

        def over_time() -> str | None:
            limit_s = assignment.timeout_s
            if limit_s is None or self._agenda.elapsed_s < began_s + limit_s:
                return None
            return of_halt(Halt.TIMED_OUT, limit_s)[1]

        return Means(
            journal=journal,
            clock_s=lambda: self._agenda.elapsed_s,
            chance=partial(self._fate.number, self._whom),
            pause=self._pauses,
            stopped=self._is_stopped,
            over_time=over_time,
            call=self._calls,
            blame=blame,
        )

    def _calls(self, function: Callable[..., Any], flight: Flight) -> object:
        self.rests()
        call = self._sky.begin(self._claimed, function, flight)
        if seconds := self._sky.takes_s(self._claimed):
            self.takes(seconds)
        self.rests()
        return self._sky.end(call)

    def _pauses(self, seconds: float) -> bool:
        # The agenda counts in microseconds. After a pause of less than 1 µs the caller must also see that time has
        # passed.
        self.takes(seconds + 1e-6)
        return self.stop.is_set()

    def _is_stopped(self) -> bool:
        self._fiber.lives()
        return self.stop.is_set()


class _Mortal:
    """Journal of a process that may die. A dead process reads and writes nothing."""

    def __init__(self, run: FlightRun, journal: Journal) -> None:
        self._run = run
        self._journal = journal

    def read(self) -> Log | None:
        return self._run.mortally(self._journal.read)

    def write(self, entry: JournalEntry) -> JournalReply:
        self._run.rests()
        heard = self._run.mortally(partial(self._journal.write, entry))
        self._run.rests()
        return heard

    @contextmanager
    def transaction(self) -> Iterator[JournalTransaction]:
        with self._journal.transaction() as opened:
            yield opened
        self._run.rests()

    def heed(self) -> JournalReply:
        return self._run.mortally(self._journal.heed)

    def meter(self, name: str, done: int, total: int | None) -> None:
        self._run.mortally(partial(self._journal.meter, name, done, total))
