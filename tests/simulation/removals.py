"""Removal of jobs and submissions that ended some seconds ago, and the checks of each removal.

The checks compare the rows before and after a removal, by rules of their own. They remember what was removed, so that
the other checks of a world know it. A removed job counts as a job that never existed, except that its claims are never
issued again and that its partitions stay.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.retention import job_removal, removal
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.mortal_ledger import CrashingLedger

#: Messages of users in a world with removals, at least and at most: enough for a job to be requested again later.
WISHES = (8, 20)
#: Seconds between two removals.
PERIOD_S = 2.0
#: Batches of a world at rest, at most.
BATCHES_MAX = 200

_JOBS = """
SELECT job.id, app, key, state, claim, changed_at, saga_open, bisected_from, undoes, undoes_claim,
       ARRAY(SELECT submission FROM submission_job WHERE submission_job.job = job.id) AS requests,
       ARRAY(SELECT work_id
             FROM jsonb_array_elements(CASE jsonb_typeof(work_ids) WHEN 'array' THEN work_ids END) AS part
             CROSS JOIN LATERAL generate_series((part ->> 0)::int, (part ->> -1)::int) AS work_id) AS work_ids,
       EXISTS (SELECT 1 FROM propagation_outbox WHERE propagation_outbox.job = job.id)
       OR EXISTS (SELECT 1 FROM app_pause WHERE app_pause.trial = job.id) AS in_use
FROM job
"""
_NEEDS = "SELECT parent, child, met FROM need"
_SUBMISSIONS = "SELECT number, id, state, ended_at, blocking_job FROM submission"
_FLOOR = "SELECT coalesce(max(claim), 0) FROM claim_floor"
_ORPHANS = """
SELECT 'a dependency group' FROM gate WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.id = gate.child)
UNION ALL SELECT 'an expansion' FROM expansion WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.id = expansion.job)
UNION ALL SELECT 'history' FROM transition WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.id = transition.job)
UNION ALL SELECT 'a round' FROM round WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.id = round.job)
"""
_OPEN = frozenset({SubmissionState.RECEIVED, SubmissionState.ACTIVE})
_CLAIMS = f"""
SELECT transition.id, app, key, transition.claim, transition.source = '{State.RUNNING}'
FROM transition JOIN job ON job.id = transition.job
WHERE transition.id > %(since)s AND '{State.RUNNING}' IN (transition.source, transition.target) ORDER BY transition.id
"""


class KnownRow(NamedTuple):
    """Row of a job, as far as the checks need it."""

    id: int
    app: str
    key: str
    state: str
    claim: int
    changed_at: datetime
    saga_open: bool
    bisected_from: int | None
    undoes: int | None
    undoes_claim: int | None
    requests: list[int]
    work_ids: list[int]
    in_use: bool

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class _Submission(NamedTuple):
    number: int
    id: str
    state: str
    ended_at: datetime | None
    blocking_job: int | None


class _Rows(NamedTuple):
    """Jobs and submissions by id and number, and the needs as parent, child and result."""

    jobs: Mapping[int, KnownRow]
    submissions: Mapping[int, _Submission]
    needs: Collection[tuple[int, int, bool | None]]
    floor: int


class RemovedJob(NamedTuple):
    row: KnownRow
    at: datetime


class Removals:
    """Removal of old jobs in one world. ``wrong`` collects violations, ``jobs`` are all jobs that were removed.

    ``removed`` is called with the jobs of each removal.
    """

    def __init__(
        self,
        fate: FaultSource,
        agenda: Agenda,
        ledger: CrashingLedger,
        plain: Ledger,
        removed: Callable[[Collection[RemovedJob]], None],
    ) -> None:
        self.wrong: list[str] = []
        self.jobs: list[RemovedJob] = []
        self.has_removed = False
        self._agenda = agenda
        self._ledger = ledger
        self._plain = plain
        self._removed = removed
        rng = fate.rng("removals")
        self.keep_s = rng.choice((1.0, 4.0, 10.0))
        self._history_s = rng.choice((0.2, 1.0)) * self.keep_s
        self._limit = rng.choice((2, 5, 1000))
        self._last: dict[JobName, datetime] = {}

    def act(self) -> None:
        """Remove one batch of history, and then one batch of jobs and submissions."""
        with self._ledger.by(f"the removal at {self._agenda.elapsed_s:.0f} s"):
            self._ledger.transact(self._prune)
            self.checked(lambda: self._ledger.transact(self._sweep))

    def checked(self, remove: Callable[[], object]) -> None:
        """Remove, and compare the rows before and after it."""
        before = self._plain.transact(_read)
        try:
            remove()
        finally:
            self._compare(before, self._plain.transact(_read), self._agenda.now)
            self.wrong += [f"{each} of a removed job is left" for each in self._plain.transact(_orphans)]

    def was_removed(self, name: JobName, since: datetime) -> bool:
        """Return whether the job was removed then or later."""
        last = self._last.get(name)
        return last is not None and last >= since

    def results(self, number: int) -> set[int]:
        """Return the work IDs of the jobs of a submission that succeeded and were removed."""
        return {
            work_id
            for job, _ in self.jobs
            if job.state == State.SUCCEEDED and number in job.requests
            for work_id in job.work_ids
        }

    def _prune(self, tx: Tx) -> None:
        removal.sweep(tx, keep_s=self._history_s, limit=self._limit)

    def _sweep(self, tx: Tx) -> None:
        job_removal.sweep(tx, keep_s=self.keep_s, limit=self._limit)

    def _compare(self, before: _Rows, after: _Rows, now: datetime) -> None:
        jobs = [row for id, row in before.jobs.items() if id not in after.jobs]
        submissions = [row for number, row in before.submissions.items() if number not in after.submissions]
        if not jobs and not submissions:
            return
        self.has_removed = True
        self.wrong += _violations(before, jobs, submissions, now - timedelta(seconds=self.keep_s))
        self.wrong += [
            f"the claim of {job.name} may be issued again" for job in jobs if job.claim > after.floor
        ]
        removed = [RemovedJob(job, now) for job in jobs]
        self.jobs += removed
        self._last |= {job.name: now for job in jobs}
        self._removed(removed)


class ClaimWatch:
    """Check that no claim of a job is issued twice, and that none has two outcomes, although the job is removed."""

    def __init__(self) -> None:
        self._since = 0
        self._claims: dict[JobName, int] = {}
        self._ended: set[tuple[JobName, int]] = set()

    def look(self, tx: Tx) -> Iterator[str]:
        """Yield the violations since the last call."""
        for id, app, key, claim, is_end in tx.rows(_CLAIMS, since=self._since):
            self._since, name = id, JobName(app, key)
            if is_end:
                if (name, claim) in self._ended:
                    yield f"claim {claim} of {name} has two outcomes"
                if self._claims.get(name) != claim:
                    yield f"claim {claim} of {name} has an outcome, and is not its last claim"
                self._ended.add((name, claim))
            elif claim <= self._claims.get(name, 0):
                yield f"claim {claim} of {name} is issued after claim {self._claims[name]}"
            self._claims[name] = max(claim, self._claims.get(name, 0))


def _violations(
    before: _Rows, jobs: Collection[KnownRow], submissions: Iterable[_Submission], limit: datetime
) -> Iterator[str]:
    """Yield the jobs and submissions that had to stay. ``limit`` is the time since when they must have ended."""
    gone = {job.id for job in jobs}
    blocking = {each.blocking_job for each in before.submissions.values() if each.state in _OPEN}
    needed = {
        parent
        for parent, child, met in before.needs
        if parent in gone and child not in gone and not (met and _is_old(before.jobs[child], limit))
    }
    undone = {
        job.undoes
        for job in before.jobs.values()
        if job.undoes in gone
        and job.state != State.SUCCEEDED
        and job.undoes_claim == before.jobs[job.undoes].claim
        and before.jobs[job.undoes].state == State.SUCCEEDED
    }
    for job in jobs:
        if not _is_old(job, limit):
            yield f"{job.name} is removed, and is {job.state} since {job.changed_at}"
        if job.in_use or job.id in blocking | needed | undone:
            yield f"{job.name} is removed, and is in use"
        if job.bisected_from in before.jobs.keys() - gone:
            yield f"{job.name} is removed, and the job of which it is a half is not"
        for submission in (before.submissions[number] for number in job.requests):
            if not _has_ended(submission, limit):
                yield f"{job.name} is removed, and {submission.id} is {submission.state}"
    left = {number for job in before.jobs.values() if job.id not in gone for number in job.requests}
    for submission in submissions:
        if not _has_ended(submission, limit) or submission.number in left:
            yield f"submission {submission.id} is removed, and is {submission.state}"


def _is_old(job: KnownRow, limit: datetime) -> bool:
    return State(job.state) in TERMINAL and not job.saga_open and job.changed_at < limit


def _has_ended(submission: _Submission, limit: datetime) -> bool:
    return submission.state not in _OPEN and submission.ended_at is not None and submission.ended_at < limit


def _read(tx: Tx) -> _Rows:
    jobs = [KnownRow(*row) for row in tx.rows(_JOBS)]
    submissions = [_Submission(*row) for row in tx.rows(_SUBMISSIONS)]
    needs: list[Any] = tx.rows(_NEEDS)
    return _Rows(
        {job.id: job for job in jobs},
        {each.number: each for each in submissions},
        needs,
        tx.column(_FLOOR)[0],
    )


def _orphans(tx: Tx) -> list[str]:
    return tx.column(_ORPHANS)
