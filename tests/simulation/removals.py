"""Removal of jobs and submissions that ended some seconds ago, and the checks of each removal.

The checks compare the rows before and after a removal, by rules of their own. They remember what was removed, so that
the other checks of a world know it. A removed job counts as a job that never existed, except that its claims are never
issued again and that its partitions stay.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import psycopg

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SAGA, SubmissionState
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.retention import job_removal, removal
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from tests.simulation.environment import Ground
from tests.simulation.overlap import Between, overlapped

#: Messages of users in a world with removals, at least and at most: enough for a job to be requested again later.
WISHES = (8, 20)
#: Seconds between two removals.
PERIOD_S = 2.0
#: Share of the statements of a plan before which jobs are removed, in a world in which removals overlap with other
#: transactions until this many seconds. Few jobs would be left to them if there were other removals too.
OVERLAPS_SHARE, OVERLAPS_UNTIL_S = 0.08, 80.0
#: Share of the other removals in which events happen.
STEPS_SHARE = 0.5
#: Events within a removal, at most.
STEPS_MAX = 5
#: Jobs and submissions that an overlapping removal examines, at most.
LIMIT = 1000

# An overlapping removal runs while another transaction is stopped, so it would wait indefinitely.
_DO_NOT_WAIT = "SET LOCAL lock_timeout = '20ms'"

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
# Jobs that have not ended keep their parents. Failed sagas across apps stay until they are undone, and the trial of a
# breaker until the groomer has handled its end.
_MAY_STAY = f"""
SELECT EXISTS (SELECT 1 FROM job WHERE saga_open OR state NOT IN ({sql_list(*sorted(TERMINAL))}))
    OR EXISTS (SELECT 1 FROM submission WHERE request ->> 'mode' = '{SAGA}' OR request ? 'compensates')
    OR EXISTS (SELECT 1 FROM app_pause)
"""
_OPEN = frozenset({SubmissionState.RECEIVED, SubmissionState.ACTIVE})
_CLAIMS = f"""
SELECT transition.id, app, key, transition.claim, transition.source = '{State.RUNNING}',
       EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id)
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


_NOTHING = _Rows({}, {}, (), 0)


class RemovedJob(NamedTuple):
    row: KnownRow
    at: datetime


class Removals:
    """Removal of old jobs in one world. ``wrong`` collects violations, ``jobs`` are all jobs that were removed.

    ``removed`` is called with the jobs of each removal. Most removals are events of their own. Others happen between
    two statements of another transaction, or ``step`` has events happen between the choice of old jobs and their locks.
    """

    def __init__(
        self,
        fate: FaultSource,
        agenda: Agenda,
        ground: Ground,
        *,
        removed: Callable[[Collection[RemovedJob]], None],
        step: Callable[[], None],
    ) -> None:
        self.wrong: list[str] = []
        self.jobs: list[RemovedJob] = []
        self.has_removed = False
        self._fate = fate
        self._agenda = agenda
        self._ledger, self._plain, self._beside = ground.ledger, ground.plain, ground.beside
        self._removed = removed
        self._step = step
        rng = fate.rng("removals")
        self.keep_s = rng.choice((1.0, 4.0, 10.0))
        self._history_s = rng.choice((0.2, 1.0)) * self.keep_s
        self._limit = rng.choice((2, 5, 1000))
        self._overlaps = rng.random() < 0.5
        self._last: dict[JobName, datetime] = {}
        self._is_removing = self._has_stepped = False
        self._before = _NOTHING
        self._ledger.between = self._overlap

    def act(self) -> None:
        """Remove one batch of history, and then one batch of jobs and submissions."""
        if self._is_removing or (self._overlaps and self._agenda.elapsed_s < OVERLAPS_UNTIL_S):
            return
        with self._ledger.by(f"the removal at {self._agenda.elapsed_s:.0f} s"):
            if self._fate.number("steps within a removal") < STEPS_SHARE:
                self._checked(partial(self._remove_all, self._have_steps))
                return
            self._checked(self._remove_batch)

    def _remove_batch(self) -> None:
        self._ledger.transact(self._prune)
        self._ledger.transact(self._sweep)

    def _overlap(self, tx: Tx, sql: str) -> None:
        """Remove everything that is old enough, sometimes, before a statement of another transaction. Transactions that
        have looked up jobs are the ones that rely on them."""
        share = OVERLAPS_SHARE if tx.seen_jobs else OVERLAPS_SHARE / 20
        if self._overlaps and not self._is_removing and self._fate.number("overlaps") < share:
            self._checked(partial(self._remove_all, lambda tx, sql: None))

    def _remove_all(self, between: Between) -> None:
        """Remove everything that is old enough, unless that has to wait for another transaction."""
        with suppress(psycopg.errors.LockNotAvailable):
            with self._beside.begin() as tx:
                tx.write(_DO_NOT_WAIT)
                removal.prune(tx, keep_s=self._history_s, limit=LIMIT)
            with self._beside.begin() as tx:
                tx.write(_DO_NOT_WAIT)
                job_removal.remove_jobs(overlapped(tx, between), keep_s=self.keep_s, limit=LIMIT)
                job_removal.remove_submissions(tx, keep_s=self.keep_s, limit=LIMIT)

    def _have_steps(self, tx: Tx, sql: str) -> None:
        """Have some events happen before jobs are locked."""
        if sql == job_removal._HOLD and not self._has_stepped:
            self._has_stepped = True
            for _ in range(1 + int(STEPS_MAX * self._fate.number("steps within a removal"))):
                self._step()
            self._before = self._plain.transact(_read)

    def _checked(self, remove: Callable[[], object]) -> None:
        """Remove, and compare the rows before and after it."""
        self._before = self._plain.transact(_read)
        self._is_removing, self._has_stepped = True, False
        try:
            remove()
        finally:
            self._is_removing = False
            self._compare(self._before, self._plain.transact(_read), self._agenda.now)
            self.wrong += [f"{each} of a removed job is left" for each in self._plain.transact(_orphans)]

    def settle(self) -> list[str]:
        """Let everything become old in a world at rest, and remove it. Return the jobs and submissions that stay
        without a reason."""
        removed = None
        while removed != len(self.jobs):
            removed = len(self.jobs)
            self._agenda.skip_to(self._agenda.now + timedelta(seconds=2 * self.keep_s))
            self._checked(partial(self._remove_all, lambda tx, sql: None))
        rows = self._plain.transact(_read)
        if self.wrong or self._plain.transact(_may_stay):
            return self.wrong
        return [
            *(f"{job.name} is {job.state}, and is never removed" for job in rows.jobs.values()),
            *(
                f"submission {each.id} is {each.state}, and is never removed"
                for each in rows.submissions.values()
            ),
        ]

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
        self.has_removed = self._ledger.has_written = True
        self.wrong += _violations(before, jobs, submissions, now - timedelta(seconds=self.keep_s))
        self.wrong += [
            f"the claim of {job.name} may be issued again" for job in jobs if job.claim > after.floor
        ]
        removed = [RemovedJob(job, now) for job in jobs]
        self.jobs += removed
        self._last |= {job.name: now for job in jobs}
        self._removed(removed)


class ClaimWatch:
    """Check that no claim of a job is issued twice, and that none has two outcomes, although the job is removed.

    A job of one of the ``dependent`` apps has dependencies when it is claimed, also if a plan has entered it again.
    """

    def __init__(self, dependent: Collection[str]) -> None:
        #: Each begin and end of a run: the id of its transition, the job, the claim, and whether it is an end.
        self.history: list[tuple[int, JobName, int, bool]] = []
        self._dependent = dependent
        self._since = 0
        self._claims: dict[JobName, int] = {}
        self._ended: set[tuple[JobName, int]] = set()

    def look(self, tx: Tx) -> Iterator[str]:
        """Yield the violations since the last call."""
        for id, app, key, claim, is_end, has_gates in tx.rows(_CLAIMS, since=self._since):
            self._since, name = id, JobName(app, key)
            self.history.append((id, name, claim, is_end))
            if app in self._dependent and not has_gates:
                yield f"{name} is claimed, and has no dependencies"
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


def _may_stay(tx: Tx) -> bool:
    return bool(tx.column(_MAY_STAY)[0])


def _orphans(tx: Tx) -> list[str]:
    return tx.column(_ORPHANS)
