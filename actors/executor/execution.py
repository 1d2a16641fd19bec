"""Execution of a batch: claim, acknowledge, run each job, record. The runs lie between the executor's two
transactions."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event
from uuid import UUID

import msgspec

from sluice.actors.executor import breakers, transactions
from sluice.actors.executor.assignments import NotHere, Versions, assign
from sluice.actors.executor.batches import (
    HELD_UP_S,
    NOTHING_TAKEN,
    BatchRun,
    ClaimedBatch,
    MeanRunTimes,
    SlowRunWatchdog,
)
from sluice.actors.executor.breakers import has_failed
from sluice.actors.executor.claims_in_flight import GATHER_S, ClaimsInFlight
from sluice.actors.executor.coroutine_loop import COROUTINES_MAX, CoroutineLoop, CoroutineRun
from sluice.actors.executor.job_services import (
    PartitionAcknowledger,
    RunJournal,
    WorkAttachment,
    not_taken_up,
    user_transaction,
)
from sluice.actors.executor.ledger_retry import while_unreachable
from sluice.actors.executor.live_output import LiveOutput
from sluice.actors.executor.lone_ends import LoneEnds
from sluice.actors.executor.own_successes import OwnSuccesses
from sluice.actors.executor.transactions import Capacity, SettleResult
from sluice.actors.results import RunAnswers
from sluice.actors.telemetry.observers import RunObservers, RunReport
from sluice.broker.delivery import Delivery
from sluice.broker.messages import Execute, Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest, SluiceError, Unreachable
from sluice.jobs.model.app import App
from sluice.jobs.model.job import NO_ECHO, Acknowledge, Assignment, Ending, Outcome
from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.observe.log_context import DEFAULT_REPORTS, RunReports
from sluice.jobs.observe.outages import missed
from sluice.jobs.runners import Runner, runner_for
from sluice.jobs.runners.function.call import account
from sluice.jobs.runners.function.thread import PythonRunner, is_coroutine
from sluice.jobs.runners.output_blobs import needs_blob, with_stored_result
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.stop_signal import Limits
from sluice.jobs.text.units import counted
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.planner.batches import JOBS_MAX

_LOG = logging.getLogger("sluice.executor")
#: Successful runs. Only the process of ``sluice up`` logs them.
_RUNS = logging.getLogger("sluice.runs")

#: Seconds that outcomes of a batch may wait to be recorded together. This is checked before each run.
RECORD_WITHIN_S = 0.1
#: Seconds for which a thread continues with jobs that follow from its own. Then waiting messages have their turn.
TURN_S = 0.5
#: Seconds between two checks whether a lease that could not be trusted is renewed: 0.2, a tenth of the two seconds
#: within which work goes on after an outage.
LEASE_AGAIN_S = 0.2

_GIVES_BACK = frozenset({Ending.NOT_STARTED, Ending.HANDED_BACK})
_NOT_STARTED = Outcome(ending=Ending.NOT_STARTED, error="its worker was stopped before it began")
_NOT_KNOWN = Outcome(ending=Ending.HANDED_BACK, error="its worker did not receive the claim")
_NOTHING_LEFT = Outcome(ending=Ending.DONE, output="All of its partitions had been made by an earlier round.")
_NOT_ENDED = Outcome(ending=Ending.HANDED_BACK, error="its worker was stopped before it ended")


class Execution:
    """Execution of jobs in this process. ``catalogue`` returns the present definitions; a batch keeps those it was
    claimed by.

    ``send`` publishes notifications; it may fail without harm. ``serves`` returns whether this process receives
    notifications for an app.
    """

    def __init__(
        self,
        ledger: Ledger,
        catalogue: Callable[[], Catalogue],
        holdings: ClaimsInFlight,
        worker: UUID,
        send: Callable[[Sequence[Message]], None],
        *,
        stores: Stores,
        serves: Callable[[str], bool] = lambda _: False,
        observers: RunObservers | None = None,
        reports: RunReports = DEFAULT_REPORTS,
    ) -> None:
        self._ledger = ledger
        self._versions = Versions(ledger)
        self._catalogue = catalogue
        self._holdings = holdings
        self._worker = worker
        self._send = send
        self._stores = stores
        self._observers = observers or RunObservers(ledger)
        self._reports = reports
        self._runners: dict[str, tuple[App, Runner]] = {}
        self.mean_run_times = MeanRunTimes()
        self._capacity = Capacity(worker, serves, self.mean_run_times.at_once)
        self._relief = SlowRunWatchdog(self._relieve)
        self._loop = CoroutineLoop(self._record_coroutines)
        self._live = LiveOutput(ledger, shows=reports.shows_output)
        self._ending = Event()
        self._own_successes = OwnSuccesses(ledger, worker, send, self._ending)
        self._lone_ends = LoneEnds()
        self._left_alone: set[str] = set()
        #: Jobs that this process has handed back since it began to stop, as ``app/key``.
        self.handed_back: list[str] = []

    def start(self, *, coroutines: int = COROUTINES_MAX) -> None:
        """Start the relief thread: from now on no job waits behind a long one in a thread of this process. Also start
        to store the output of running jobs.

        ``coroutines`` is the number of coroutines that run at the same time.
        """
        self._loop.limit = coroutines
        self._relief.start()
        self._live.start()

    def execute(self, message: Execute, delivery: Delivery) -> None:
        """Execute one batch. Its message is acknowledged once the jobs are claimed, because from then on a lease
        protects them.

        If the runs have turned out longer than the planner knew, the batch is divided: this thread takes the first
        part, and messages for the others go to the end of the queue. So no job of another app or tenant waits for all
        of them. If a crash loses these messages, their jobs are ready, and the groomer announces them.

        While the lease cannot be trusted the message waits, because jobs that are claimed could not begin.
        """
        while not (self._holdings.may_begin or self._holdings.draining):
            self._ending.wait(LEASE_AGAIN_S)
        if self._holdings.draining:
            delivery.give_back()
            return
        catalogue = self._catalogue()
        if message.app not in catalogue:
            self._leave_alone(message.app)
            delivery.acknowledge()
            return
        if is_coroutine(catalogue[message.app]):
            self._execute_coroutines(catalogue, message, delivery)
            return
        asked_at = self._holdings.clock()
        first, *later = self.mean_run_times.divided(message)
        claimed, messages = transactions.claim(
            self._ledger, catalogue, first, self._worker, at_once=self.mean_run_times.at_once(message.app)
        )
        _acknowledge(delivery)
        self._send([*messages, *later])
        self._run_on(catalogue, ClaimedBatch(asked_at, claimed))

    def capacity(self, reserve: Callable[[], bool]) -> Capacity | None:
        """Return the capacity for jobs in threads that are claimed when they are planned. ``reserve`` is as in
        ``Capacity``. None: this process may begin none now."""
        if not self._holdings.may_begin:
            return None

        def serves(app: str) -> bool:
            found = self._catalogue().get(app)
            return found is not None and not is_coroutine(found) and self._capacity.serves(app)

        return Capacity(self._worker, serves, self.mean_run_times.at_once, reserve)

    def run_planned(self, catalogue: Catalogue, taken: ClaimedBatch) -> None:
        """Run jobs that were claimed when they were planned, and then others as ``execute`` does."""
        reached(Failpoint.PLANNED_BEGINS)
        self._run_on(catalogue, taken)

    def drain(self) -> None:
        """Start no coroutine from now on."""
        self._loop.close()

    def join(self, timeout_s: float) -> bool:
        """Wait until the coroutines have ended and their outcomes are recorded. Return False if that takes longer."""
        return self._loop.join(timeout_s)

    def give_back(self, strays: list[Claim]) -> None:
        """Hand back claims that this process does not know (see ``ledger.recovery.leases.strays``)."""
        if not self._ledger.outages.count("jobs that never began, handed back", len(strays)):
            _LOG.warning(
                "%s of this worker never began, because the answer of the ledger was lost; back to the queue",
                counted(len(strays), "job"),
            )
        messages, _ = transactions.record(self._ledger, dict.fromkeys(strays, _NOT_KNOWN))
        self._send(messages)

    def give_up(self) -> None:
        """Hand back the running jobs, and stop waiting for an unreachable ledger, because the process is about to end.

        Only the process can be ended, not a thread. A late result of a thread is refused, because its claim is gone.
        """
        self._ending.set()
        self._live.end()
        if left := self._holdings.claims():
            self._settle(self._catalogue(), dict.fromkeys(left, _NOT_ENDED))

    def _run_on(self, catalogue: Catalogue, taken: ClaimedBatch) -> None:
        """Run these jobs. Then claim and run jobs that follow from them, by the definitions of that moment, until the
        thread's turn is over."""
        over_at = time.monotonic() + TURN_S
        while claimed := taken.jobs:
            subjects = self._observers.take_up(claimed)
            stops = self._holdings.take((job.right for job in claimed), subjects, asked_at=taken.asked_at)
            try:
                outcomes = self._run_all(catalogue, BatchRun(claimed), stops)
                goes_on = time.monotonic() < over_at and not self._holdings.draining
                catalogue = self._catalogue()
                taken = self._settle(catalogue, outcomes, self._capacity if goes_on else None)
                if taken.jobs:
                    reached(Failpoint.HAND_OFF_BEGINS)
            finally:
                self._holdings.forget(stops)
                self._observers.forget(stops)

    def _execute_coroutines(self, catalogue: Catalogue, message: Execute, delivery: Delivery) -> None:
        """Claim jobs and start their coroutines, as many at a time as have a place. Acknowledge the message when all
        jobs that it names have been claimed, here or elsewhere."""
        left = message.jobs
        while left:
            places = self._loop.reserve(JOBS_MAX)
            if not places:
                delivery.give_back()
                return
            part, left = left[:places], left[places:]
            asked_at = self._holdings.clock()
            try:
                claimed, messages = transactions.claim(
                    self._ledger, catalogue, Execute(app=message.app, jobs=part), self._worker, at_once=places
                )
            except BaseException:
                self._loop.put_back(places)
                raise
            self._loop.put_back(places - len(claimed))
            self._send(messages)
            if claimed:
                self._start_coroutines(catalogue, ClaimedBatch(asked_at, claimed))
        _acknowledge(delivery)

    def _start_coroutines(self, catalogue: Catalogue, taken: ClaimedBatch) -> None:
        subjects = self._observers.take_up(taken.jobs)
        stops = self._holdings.take((job.right for job in taken.jobs), subjects, asked_at=taken.asked_at)
        for job in taken.jobs:
            run = CoroutineRun(job, stops[job.right])
            self._loop.start(self._run_coroutine(catalogue, run), run.must_stop)

    async def _run_coroutine(self, catalogue: Catalogue, run: CoroutineRun) -> CoroutineRun:
        """Run one job on the event loop, and return its run with the outcome."""
        job = run.job
        with self._reported(job) as report:
            began = time.monotonic()
            outcome = await self._run_async(catalogue, run, report)
            run.took_s = time.monotonic() - began
            run.outcome = outcome and msgspec.structs.replace(outcome, took_s=run.took_s)
            report.outcome = run.outcome
        self._holdings.release([job.right])
        return run

    async def _run_async(self, catalogue: Catalogue, run: CoroutineRun, report: RunReport) -> Outcome | None:
        job = run.job
        if run.stop.is_set() or not self._holdings.may_begin:
            return _NOT_STARTED
        try:
            assignment = report.begins(self._assigned(catalogue, job))
            if assignment.span and not assignment.partitions:
                return _NOTHING_LEFT
            runner = self._runner_of(assignment.app)
            if not isinstance(runner, PythonRunner):
                raise BadRequest(f"{job.name.app} is no coroutine any more.")
            run.limits = Limits(run.stop, assignment.timeout_s)
            outcome = await runner.run_async(
                assignment,
                stop=run.stop,
                limits=run.limits,
                report=_unheard,
                transaction=partial(user_transaction, self._ledger),
                acknowledge=self._acknowledge(assignment, job, run.stop),
            )
            # The coroutine has ended, so nothing is left that could be cancelled.
            run.limits = None
            if needs_blob(outcome, assignment):
                store = partial(with_stored_result, outcome, assignment, self._stores.blobs)
                outcome = await asyncio.to_thread(store)
            if outcome.succeeded_in is None:
                return outcome
            return await asyncio.to_thread(self._own_successes.conclude, job, outcome)
        except Exception as error:
            return self._not_run(job, None, error)
        finally:
            self._live.forget(job.right)

    def _record_coroutines(self, runs: Sequence[CoroutineRun]) -> None:
        """Record the outcomes of coroutines that have ended. Called in a thread of the loop."""
        outcomes = {run.job.right: run.outcome for run in runs if run.outcome}
        for run in runs:
            self.mean_run_times.note(run.job.app, run.took_s)
        try:
            self._settle(self._catalogue(), outcomes)
            for app in {run.job.app for run in runs if run.outcome and has_failed(run.outcome)}:
                self._evaluate_breaker(app)
        finally:
            rights = [run.job.right for run in runs]
            self._holdings.forget(rights)
            self._observers.forget(rights)

    def _leave_alone(self, app: str) -> None:
        """Log once that an app is not claimed here. Its jobs stay ready: the groomer repeats the notification until the
        app is back or another worker has it."""
        if app not in self._left_alone:
            self._left_alone.add(app)
            _LOG.warning(
                "%s was removed from the definitions; its jobs are not claimed here and stay ready", app
            )

    def _run_all(
        self, catalogue: Catalogue, load: BatchRun, stops: dict[Claim, Event]
    ) -> dict[Claim, Outcome]:
        """Run the jobs of a load, and return the outcomes that have yet to be recorded."""
        if len(stops) > 1:
            self._relief.watch(load)
        try:
            recorded_at = time.monotonic()
            while job := load.next():
                if time.monotonic() - recorded_at > RECORD_WITHIN_S:
                    self._settle(self._catalogue(), load.outcomes())
                    recorded_at = time.monotonic()
                with self._reported(job) as report:
                    outcome = self._run(catalogue, job, stops[job.right], report)
                    report.outcome = outcome
                self._holdings.release([job.right])
                if outcome and outcome.ending is not Ending.DETACHED:
                    load.note(job.right, outcome)
                    if has_failed(outcome) and self._breaks(load):
                        load.hold_back()
        finally:
            self._relief.forget(load)
        return load.outcomes()

    @contextmanager
    def _reported(self, job: ClaimedJob) -> Iterator[RunReport]:
        """Report the run of a job to the observers and to the log. The block sets the report's ``outcome``."""
        with self._observers.at(job.right, self._holdings.subject_of(job.right)) as report:
            reached(Failpoint.RUN_BEGINS)
            began = time.monotonic()
            yield report
            reached(Failpoint.RUN_ENDED)
            if report.outcome:
                self._log_run(job, report.outcome, time.monotonic() - began)

    def _log_run(self, job: ClaimedJob, outcome: Outcome, took_s: float) -> None:
        if has_failed(outcome):
            if self._reports.logged != "none":
                _LOG.error("%s failed in round %d: %s", job.name, job.round, outcome.error)
        elif outcome.ending is Ending.DONE and self._reports.logged == "all":
            _RUNS.info("%s succeeded in %.3f s", job.name, took_s)

    def _breaks(self, load: BatchRun) -> bool:
        """If the app has a breaker, record the failures now, and return whether the breaker is open."""
        catalogue = self._catalogue()
        app = catalogue.get(load.app)
        if not (app and app.breaker):
            return False
        self._settle(catalogue, load.outcomes())
        return self._evaluate_breaker(load.app)

    def _evaluate_breaker(self, app: str) -> bool:
        """Return whether the app has a breaker that is open. Its failures must be recorded."""
        found = self._catalogue().get(app)
        if not (found and found.breaker):
            return False
        try:
            broken = breakers.evaluate(self._ledger, app)
        except Unreachable as error:
            missed(error, "checks of a breaker repeated later")
            return False
        self._send(broken.messages)
        return broken.is_open

    def _relieve(self, app: str, outcomes: dict[Claim, Outcome]) -> None:
        self.mean_run_times.suppose(app, HELD_UP_S)
        self._holdings.release(outcomes)
        self._settle(self._catalogue(), outcomes)

    def _run(self, catalogue: Catalogue, job: ClaimedJob, stop: Event, report: RunReport) -> Outcome | None:
        """Run one job, and return its outcome, or None if the run has committed its own success."""
        if stop.is_set() or not self._holdings.may_begin:
            return _NOT_STARTED
        journal = RunJournal(self._ledger, job, stop) if job.saga_open else None
        began = time.monotonic()
        try:
            assignment = report.begins(self._assigned(catalogue, job))
            if assignment.span and not assignment.partitions:
                return _NOTHING_LEFT
            outcome = self._run_assigned(assignment, job, stop, journal)
            took_s = time.monotonic() - began
            outcome = with_stored_result(outcome, assignment, self._stores.blobs)
            to_record = self._own_successes.conclude(job, outcome)
        except SluiceError as error:
            return self._not_run(job, journal, error)
        except Exception as error:
            # Without an outcome the claim would be run again after each lease, indefinitely.
            took_s = time.monotonic() - began
            to_record = outcome = self._not_run(job, journal, error)
        finally:
            self._live.forget(job.right)
        if outcome.ending is not Ending.DETACHED:
            self.mean_run_times.note(job.app, took_s)
        return to_record and msgspec.structs.replace(to_record, took_s=took_s)

    def _not_run(self, job: ClaimedJob, journal: RunJournal | None, error: Exception) -> Outcome:
        """Return the outcome of a job that could not be run because of this error."""
        if isinstance(error, NotHere):
            return Outcome(ending=Ending.VERSION_UNAVAILABLE, error=error.what)
        if isinstance(error, SluiceError):
            return not_taken_up(journal, error.reason)
        _LOG.error(
            "%s could not be run in round %d, because of a defect of Sluice",
            job.name,
            job.round,
            exc_info=error,
        )
        return not_taken_up(journal, f"Sluice could not run it: {account(error)}")

    def _assigned(self, catalogue: Catalogue, job: ClaimedJob) -> Assignment:
        """Return the assignment of a job. Its output is stored while it runs, except the start of a long-running
        service, which is short. Its polls add to the output, and must not be overwritten by a late statement."""
        app = self._versions.of(catalogue, job.name)
        assignment = assign(app, job, NO_ECHO if app.unbounded else self._live.echo(job.right))
        return msgspec.structs.replace(
            assignment,
            quota=catalogue.tenant_settings.of(app.tenant),
            answers=RunAnswers(self._ledger, self._catalogue, self._stores.blobs, job, assignment.ids),
            success=self._own_successes.right(job),
        )

    def _run_assigned(
        self, assignment: Assignment, job: ClaimedJob, stop: Event, journal: RunJournal | None
    ) -> Outcome:
        if journal and assignment.app.saga is None:
            raise BadRequest(f"{job.name.app} is no saga any more.")
        return self._runner_of(assignment.app).run(
            assignment,
            # Another worker continues a flight where it stands, so this one leaves it before the grace time is over.
            stop=self._holdings.leave_of(job.right) if journal else stop,
            report=_unheard,
            transaction=partial(user_transaction, self._ledger),
            attachment=WorkAttachment(self._ledger, job, stop, self._send),
            acknowledge=self._acknowledge(assignment, job, stop),
            journal=journal,
        )

    def _runner_of(self, app: App) -> Runner:
        """Return the runner of an app. There is one for each definition, and it is kept until another definition
        replaces it."""
        known, runner = self._runners.get(app.name, (None, None))
        if known is not app or runner is None:
            runner = runner_for(app, self._stores)
            self._runners[app.name] = (app, runner)
        return runner

    def _acknowledge(self, assignment: Assignment, job: ClaimedJob, stop: Event) -> Acknowledge | None:
        partitioning = assignment.app.partitioning
        if partitioning is None:
            return None
        return PartitionAcknowledger(self._ledger, job.right, partitioning.calendar, stop).acknowledge

    def _settle(
        self, catalogue: Catalogue, outcomes: dict[Claim, Outcome], capacity: Capacity | None = None
    ) -> ClaimedBatch:
        """Record the outcomes, and return the jobs that this thread runs next."""
        if not outcomes:
            return NOTHING_TAKEN
        names, began = self._holdings.names_of(outcomes), self._holdings.clock()

        def settle() -> tuple[float, SettleResult]:
            asked_at = self._holdings.clock()
            alone = self._settle_alone(catalogue, outcomes, names, capacity)
            return asked_at, alone or transactions.settle(
                self._ledger, catalogue, outcomes, capacity, names=names, paces_s=self.mean_run_times.news()
            )

        answer = while_unreachable(settle, self._ending, "results recorded late", len(outcomes))
        if answer is None:
            return NOTHING_TAKEN
        asked_at, settled = answer
        if settled.refused:
            news = self._holdings.note_gone(settled.refused)
            subjects = [self._holdings.subject_of(claim) for claim in news]
            has_waited = self._holdings.clock() - began > GATHER_S
            self._holdings.late_results.log(
                subjects, others_follow=has_waited or self._ledger.outages.is_open
            )
        if self._holdings.draining:
            self._note_handed_back(outcomes, settled.refused)
        self._observers.recorded(outcomes, settled.refused)
        self._send(settled.messages)
        return ClaimedBatch(asked_at, settled.taken)

    def _settle_alone(
        self,
        catalogue: Catalogue,
        outcomes: dict[Claim, Outcome],
        names: Mapping[int, JobName],
        capacity: Capacity | None,
    ) -> SettleResult | None:
        """Record a single outcome in one round trip, if that is possible. The first mean duration of an app is written
        by the other transaction."""
        if len(outcomes) != 1 or not names or not self._ledger.may_be_alone:
            return None
        (name,), (ended,) = names.values(), outcomes.items()
        if ended[1].ending is not Ending.DONE or not self.mean_run_times.is_reported(name.app):
            return None
        if not self._lone_ends.worth_trying(name.app):
            return None
        settled = transactions.settle_alone(self._ledger, catalogue, name, ended, capacity)
        if settled is None:
            self._lone_ends.note_vain(name.app)
        return settled

    def _note_handed_back(self, outcomes: dict[Claim, Outcome], refused: Sequence[Claim]) -> None:
        for claim, outcome in outcomes.items():
            if outcome.ending in _GIVES_BACK and claim not in refused:
                subject = self._holdings.subject_of(claim)
                self.handed_back.append(f"{subject.app}/{subject.key}")


def _acknowledge(delivery: Delivery) -> None:
    """Acknowledge a message whose jobs are claimed."""
    delivery.acknowledge()
    reached(Failpoint.CLAIM_ACKNOWLEDGED)


def _unheard(done: int, total: int | None) -> None:
    """Ignore progress, which has no listener yet."""
