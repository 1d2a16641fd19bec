"""Observers of runs (traces, lineage): their interface, and the reports that they receive.

``Observer`` is the interface of an observer. ``RunObservers`` sends the reports about jobs, from submission to outcome,
and provides names of jobs for the log. A notification sometimes comes twice, so ``Remembered`` keeps reported facts in
memory.

Invariants: an observer is called after the ledger has a fact. It delays no work. Its errors, and errors in this module,
do not affect the work. It may receive a fact twice, even from two processes. It receives nothing from a process that
dies.

Without observers the reports cost a claim a few microseconds, and the ledger nothing. With observers the jobs of a
message are read from the ledger after the commit: a few statements per message, however many jobs it names.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, Self

import msgspec
from msgspec import Struct

from sluice.actors.telemetry.counters import Count
from sluice.broker.messages import Ended, Executed, Message, Plan, Submit, SubmitMany
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.log_context import Speaking, Subject
from sluice.jobs.observe.outages import missed
from sluice.jobs.observe.traceparent import read_traceparent
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.reads import run_records
from sluice.ledger.reads.run_records import LifeStretch, PlannedSubmission, RunOrigin
from sluice.ledger.stats.event_counters import CounterName


class RunInfo(Struct, frozen=True, kw_only=True):
    """Known facts about a run before it begins. ``after`` has the runs that it came after, each with its origin.
    ``parcel`` is the number of jobs that were claimed together."""

    job: ClaimedJob
    origin: RunOrigin | None = None
    after: Sequence[tuple[Claim, RunOrigin | None]] = ()
    parcel: int = 1


class FinishedRun(Struct, frozen=True, kw_only=True):
    """A finished stretch of a job's life, and the origin of its run."""

    stretch: LifeStretch
    origin: RunOrigin | None = None


class ObservedRun(Protocol):
    """Observer of one run, called in the run's thread."""

    @property
    def traceparent(self) -> str | None:
        """Trace context for everything that the run starts."""
        ...

    def begin(self, assignment: Assignment) -> None:
        """Observe that the work itself is about to begin."""
        ...

    def end(self, outcome: Outcome | None) -> None:
        """Observe the end, in the same thread. ``outcome`` is None if the run committed its own success, or if it is
        unknown."""
        ...


class Observer(Protocol):
    """Observer of this process. Any thread may call its methods."""

    def run(self, sight: RunInfo) -> ObservedRun:
        """Return the observer of a run that is about to begin in this thread."""
        ...

    def recorded(self, sight: RunInfo, outcome: Outcome, *, refused: bool) -> None:
        """Observe an outcome that was recorded, or was refused because it came too late."""
        ...

    def lost(self, past: FinishedRun) -> None:
        """Observe a run of a lost worker."""
        ...

    def judged(self, past: FinishedRun) -> None:
        """Observe the verdict on a run."""
        ...

    def planned(self, submission: PlannedSubmission) -> None:
        """Observe a submission that was planned or refused."""
        ...

    def counts(self) -> Mapping[CounterName, Count]:
        """Return the counters of this observer."""
        ...

    def close(self) -> None:
        """Send everything that is pending, within a bounded time."""
        ...


_LOG = logging.getLogger("sluice.observers")

#: Endings that may be judged when they are recorded, if there is nothing to decide (see ``ledger.lifecycle.outcomes``).
_JUDGED = {Ending.DONE, Ending.ERROR, Ending.UNDO_FAILED}


class RunReport:
    """One run with all of its observers. Until the block ends, its thread is running it."""

    def __init__(self, subject: Subject, runs: Sequence[ObservedRun]) -> None:
        self._speaking = Speaking(subject)
        self._runs = runs
        self.outcome: Outcome | None = None

    def __enter__(self) -> Self:
        self._speaking.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for run in reversed(self._runs):
            with _harmless():
                run.end(self.outcome)
        self._speaking.__exit__()

    def begins(self, assignment: Assignment) -> Assignment:
        """Return the assignment with its trace context."""
        for run in self._runs:
            with _harmless():
                run.begin(assignment)
            if run.traceparent:
                assignment = msgspec.structs.replace(assignment, traceparent=run.traceparent)
        return assignment


class RunObservers:
    """Observers of this process. ``names``: the log names the submission of a run, even without observers."""

    def __init__(self, ledger: Ledger, observers: Sequence[Observer] = (), *, names: bool = False) -> None:
        self._ledger = ledger
        self._observers = tuple(observers)
        self._names = names
        self._sights: dict[Claim, RunInfo] = {}

    def take_up(self, jobs: Sequence[ClaimedJob]) -> dict[Claim, Subject]:
        """Note claimed jobs, and return for each the facts that the log names. Call ``forget`` later."""
        if not (self._names or self._observers):
            return {job.right: _subject(job) for job in jobs}
        sights = [RunInfo(job=job, parcel=len(jobs)) for job in jobs]
        with _harmless():
            sights = self._look_at(jobs)
        if self._observers:
            self._sights.update((sight.job.right, sight) for sight in sights)
        return {sight.job.right: _subject(sight.job, sight.origin) for sight in sights}

    def at(self, claim: Claim, subject: Subject) -> RunReport:
        """Return the report of this job's run."""
        runs = self._runs(claim) if self._observers else ()
        for run in runs:
            with _harmless():
                if trace_id := _trace_id(run.traceparent):
                    subject = msgspec.structs.replace(subject, trace_id=trace_id)
        return RunReport(subject, runs)

    def recorded(self, outcomes: Mapping[Claim, Outcome], refused: Iterable[Claim]) -> None:
        """Report these outcomes. They are in the ledger now, unless their claims were refused."""
        if not self._observers:
            return
        late = set(refused)
        for claim, outcome in outcomes.items():
            if sight := self._sights.get(claim):
                for observer in self._observers:
                    with _harmless():
                        observer.recorded(sight, outcome, refused=claim in late)
        judged = [claim.job for claim, outcome in outcomes.items() if outcome.ending in _JUDGED]
        self._tell(lambda tx: run_records.verdicts(tx, judged), _judged)

    def forget(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            self._sights.pop(claim, None)

    def handled(self, message: Message) -> None:
        """Report the changes of a control message that was handled. They are in the ledger now."""
        if not self._observers:
            return
        match message:
            case Executed(jobs=jobs):
                self._tell(lambda tx: run_records.verdicts(tx, jobs), _judged)
            case Ended(jobs=jobs):
                self._tell(lambda tx: run_records.lost(tx, run_records.last_claims(tx, jobs)), _lost)
            case Plan() | Submit() | SubmitMany():
                self._planned(_named(message))

    def counts(self) -> dict[CounterName, Count]:
        """Return the counters of all observers."""
        return {what: count for observer in self._observers for what, count in observer.counts().items()}

    def close(self) -> None:
        for observer in self._observers:
            with _harmless():
                observer.close()

    def _look_at(self, jobs: Sequence[ClaimedJob]) -> list[RunInfo]:
        claims = [job.right for job in jobs]
        if not self._observers:
            found = self._ledger.transact(lambda tx: run_records.origins(tx, claims))
            return [RunInfo(job=job, origin=found.get(job.right), parcel=len(jobs)) for job in jobs]
        again = [job.right for job in jobs if job.claim > 1]
        if again:
            self._tell(lambda tx: run_records.lost(tx, run_records.claims_before(tx, again)), _lost)
        after = self._ledger.transact(lambda tx: run_records.parents(tx, [job.id for job in jobs]))
        named = {*claims, *(parent for parents in after.values() for parent in parents)}
        found = self._ledger.transact(lambda tx: run_records.origins(tx, named))
        return [
            RunInfo(
                job=job,
                origin=found.get(job.right),
                after=[(parent, found.get(parent)) for parent in after.get(job.id, ())],
                parcel=len(jobs),
            )
            for job in jobs
        ]

    def _runs(self, claim: Claim) -> list[ObservedRun]:
        runs: list[ObservedRun] = []
        if sight := self._sights.get(claim):
            for observer in self._observers:
                with _harmless():
                    runs.append(observer.run(sight))
        return runs

    def _tell(
        self, ask: Callable[[Tx], list[LifeStretch]], how: Callable[[Observer, FinishedRun], None]
    ) -> None:
        """Report the stretches that ``ask`` returns, which are over."""

        def work(tx: Tx) -> list[FinishedRun]:
            found = ask(tx)
            began_for = run_records.origins(tx, {each.right for each in found}) if found else {}
            return [FinishedRun(stretch=each, origin=began_for.get(each.right)) for each in found]

        with _harmless():
            for past in self._ledger.transact(work):
                for observer in self._observers:
                    how(observer, past)

    def _planned(self, ids: Sequence[str]) -> None:
        with _harmless():
            for each in self._ledger.transact(lambda tx: run_records.planned(tx, ids)):
                for observer in self._observers:
                    observer.planned(each)


def _judged(observer: Observer, past: FinishedRun) -> None:
    observer.judged(past)


def _lost(observer: Observer, past: FinishedRun) -> None:
    observer.lost(past)


def _subject(job: ClaimedJob, origin: RunOrigin | None = None) -> Subject:
    submission = origin.submission if origin else None
    return Subject(
        app=job.app,
        key=job.key,
        round=job.round,
        claim=job.claim,
        submission=submission,
        trace_id=_trace_id(origin.traceparent if origin else None),
    )


def _trace_id(traceparent: str | None) -> str | None:
    place = read_traceparent(traceparent)
    return place.trace_id if place else None


class _Named(msgspec.Struct):
    id: str | None = None


def _named(message: Plan | Submit | SubmitMany) -> Sequence[str]:
    """Return the submissions that a message is about. One with an unreadable id is refused under another id."""
    if isinstance(message, Plan):
        return message.submissions
    if isinstance(message, Submit):
        return [_id_of(message.submission, message.id)]
    return [_id_of(row, f"{message.id}/{place}") for place, row in enumerate(message.submissions)]


def _id_of(row: msgspec.Raw, otherwise: str) -> str:
    try:
        return msgspec.json.decode(row, type=_Named).id or otherwise
    except msgspec.MsgspecError:
        return otherwise


@contextmanager
def _harmless() -> Iterator[None]:
    """Log an error of an observer, so that the work goes on."""
    try:
        yield
    except Unreachable as error:
        missed(error, "facts missing in traces and lineage")
    except Exception:
        _LOG.exception("an observer was not notified")


#: Number of facts that are remembered. An older one may be reported twice.
MOST = 10_000


class Remembered:
    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, None] = OrderedDict()
        self._lock = Lock()

    def is_news(self, what: Hashable) -> bool:
        """Return whether this fact is new, and remember it."""
        with self._lock:
            if what in self._told:
                return False
            self._told[what] = None
            if len(self._told) > MOST:
                self._told.popitem(last=False)
        return True
