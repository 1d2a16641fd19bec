"""Pruning: remove the history of jobs that ended long ago. Their outcome stays.

Removed are a job's transitions, its rounds with their output and result, its journals, the events and meters of its
flights, and its notifications with their deliveries. What stays is its row (app, key, state, claim, terms, begin of its
last run), its needs and gates, the submissions that requested it, its partitions and its freshness. Plans, reruns and
compensations depend on these alone, and are not changed by it. The claim, which may be in use elsewhere as the fencing
number, continues to grow. ``pruned_at`` is the time up to which history was removed.

Spared, however old:

- jobs that have not ended, are in ``propagation_outbox``, or have external work that must still be ended;
- jobs with `archive: manual` that are not archived, and sagas that could not be undone;
- jobs of a submission that has not ended, or of a saga across apps with a compensation that is still to be planned;
- jobs that a compensation has yet to undo, and that compensation.

Submissions stay because a repeated id must be recognised. Firings stay too.

Races: every transaction that changes a job holds its row. Pruning takes only unlocked rows, in id order, and checks all
of the above again in a later statement. A concurrent plan, rerun, archive or cancellation may come first: then the job
is skipped or may no longer be pruned. Otherwise it comes later and misses nothing, because it reads nothing that was
removed. A submission's failure and its compensation are entered in one transaction, so no state between them exists. A
reader may find rounds without their transitions, or the reverse.

A crash leaves whole jobs, pruned or not, because a batch is one transaction. From then on the blobs of removed rounds
are in ``blob_deletion`` until they are deleted (``blob_deletion``).

Pruning waits for no other transaction. A batch costs as much as the jobs that it examines: it continues along the index
``job_prunable`` from where the last batch ended. Spared jobs are skipped once per sweep, not in each step.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.model.submission import COMPENSATION, SAGA, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import LONGEST_S, NOW
from sluice.ledger.job_graph import shared_kwargs
from sluice.ledger.schema.prunable import HAS_HISTORY
from sluice.ledger.stats import audit, state_counts

#: Seconds between two sweeps. A short retention time shortens the pause (``REST_SHARE``).
REST_S = 3600.0
#: Pause between two sweeps, at most this share of the retention time.
REST_SHARE = 0.1

#: SQL for the time before which a job must have ended to be removed.
BEFORE = f"{NOW} - make_interval(secs => least(%(keep_s)s, {LONGEST_S}))"
# The state is compared first: the request of a submission with 10,000 keys takes longer to read than all of the rest.
_IS_KEPT = f"""
submission.state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}')
OR submission.state IN ('{SubmissionState.FAILED}', '{SubmissionState.CANCELLED}')
   AND submission.request ->> 'mode' = '{SAGA}'
   AND EXISTS (
       SELECT 1 FROM submission undo WHERE undo.id = submission.id || '{COMPENSATION}' AND undo.state IN (
           '{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}', '{SubmissionState.REFUSED}'))
"""
# ``undoes IS NOT NULL`` lets Postgres read a partial index, even if it reads all undos at once instead of one per job.
#: SQL that is true for a job that is spared, however old.
SPARED = f"""
(job.handle IS NOT NULL
 OR EXISTS (SELECT 1 FROM propagation_outbox WHERE propagation_outbox.job = job.id)
 OR EXISTS (
     SELECT 1 FROM submission_job JOIN submission ON submission.number = submission_job.submission
     WHERE submission_job.job = job.id AND ({_IS_KEPT}))
 OR job.state = '{State.SUCCEEDED}' AND EXISTS (
     SELECT 1 FROM job undo
     WHERE undo.undoes IS NOT NULL AND undo.undoes = job.id AND undo.undoes_claim = job.claim
       AND undo.state <> '{State.SUCCEEDED}')
 OR job.state <> '{State.SUCCEEDED}' AND job.undoes IS NOT NULL AND EXISTS (
     SELECT 1 FROM job done
     WHERE done.id = job.undoes AND done.claim = job.undoes_claim AND done.state = '{State.SUCCEEDED}'))
"""
# Read along the index, including spared jobs, so that the cost of a step is bounded by ``limit``. The time is a
# subquery; otherwise the clock would be evaluated for each job, up to the youngest.
_NEXT = f"""
SELECT changed_at, id, NOT {SPARED} FROM (
    SELECT * FROM job
    WHERE {HAS_HISTORY} AND changed_at < (SELECT {BEFORE})
      AND (changed_at, id) > (%(ended_at)s::timestamptz, %(job)s::bigint)
    ORDER BY changed_at, id LIMIT %(limit)s) job
ORDER BY changed_at, id
"""
# A CASE, so that the primary key is used even if statistics are stale (see ``transitions.guard``).
_PRUNABLE = f"""
SELECT job.id FROM job
WHERE job.id = ANY(%(jobs)s) AND CASE WHEN {HAS_HISTORY} THEN changed_at < {BEFORE} AND NOT {SPARED} END
ORDER BY job.id
"""
_HOLD = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE SKIP LOCKED"
#: By field of ``Removed``, the tables and the view of a job's history.
_TABLES = {
    "transitions": "transition",
    "rounds": "round",
    "steps": "saga_journal",
    "events": "saga_signal",
    "meters": "saga_progress",
    "notifications": "notification",
}
_REMOVE = {
    field: f"DELETE FROM {table} WHERE job = ANY(%(jobs)s)"
    for field, table in _TABLES.items()
    if field not in ("transitions", "rounds")
}
_REMOVE_HISTORY = """
WITH gone AS (DELETE FROM history WHERE job = ANY(%(jobs)s) RETURNING kind)
SELECT count(*) FROM gone JOIN history_kind USING (kind)
"""
_REMOVE_ROUNDS = f"""
WITH gone AS (
    DELETE FROM round WHERE job = ANY(%(jobs)s) RETURNING output_blob, stderr_blob, result_blob
), dropped AS (
    INSERT INTO blob_deletion (blob, next_attempt_at)
    SELECT blob, {NOW} FROM gone CROSS JOIN LATERAL (VALUES (output_blob), (stderr_blob), (result_blob)) each (blob)
    WHERE blob IS NOT NULL
    ON CONFLICT (blob) DO NOTHING
    RETURNING blob
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM dropped)
"""
# Jobs that read tables are compared with the partitions that were made after they began.
_MARK = f"""
UPDATE job SET pruned_at = {NOW}, begun_at = coalesce(
    (SELECT running_at FROM round WHERE round.job = job.id AND round.claim = coalesce(job.saga_first_claim, job.claim)),
    begun_at)
WHERE id = ANY(%(jobs)s)
"""
_COUNT = f"""
SELECT {", ".join(f"(SELECT count(*) FROM {table} WHERE job = ANY(%(jobs)s))" for table in _TABLES.values())},
       (SELECT count(output_blob) + count(stderr_blob) + count(result_blob) FROM round WHERE job = ANY(%(jobs)s))
"""

#: Name of the position of this sweep.
SWEEP = "history"
_BEGIN = f"""
INSERT INTO retention_cursor (name, ended_at, job, rests_until) VALUES ('{SWEEP}', '-infinity', 0, {NOW})
ON CONFLICT (name) DO NOTHING
"""
_TAKE_UP = f"""
SELECT nullif(ended_at, '-infinity'), job FROM retention_cursor
WHERE name = '{SWEEP}' AND rests_until <= {NOW} FOR UPDATE SKIP LOCKED
"""
_IS_KNOWN = f"SELECT 1 FROM retention_cursor WHERE name = '{SWEEP}'"
#: Query for whether a sweep is in progress or due again, or a blob deletion is due. False before the first sweep.
IS_DUE = f"""
SELECT EXISTS (SELECT 1 FROM retention_cursor WHERE rests_until <= {NOW})
    OR EXISTS (SELECT 1 FROM blob_deletion WHERE next_attempt_at <= {NOW})
"""
_LEAVE_OFF = f"UPDATE retention_cursor SET ended_at = %(ended_at)s, job = %(job)s WHERE name = '{SWEEP}'"
_REST = f"""
UPDATE retention_cursor SET ended_at = '-infinity', job = 0, rests_until = {NOW} + make_interval(secs => %(rest_s)s)
WHERE name = '{SWEEP}'
"""

# Index entries from the position of the sweep on, at most the limit.
_BACKLOG = f"""
SELECT count(*) FROM (
    SELECT 1 FROM job
    WHERE {HAS_HISTORY} AND changed_at < (SELECT {BEFORE})
      AND (changed_at, id) > (
          SELECT coalesce(max(ended_at), '-infinity'), coalesce(max(job), 0) FROM retention_cursor
          WHERE name = '{SWEEP}')
    ORDER BY changed_at, id LIMIT %(limit)s) old
"""
_OVERDUE = f"""
SELECT name, greatest(extract(epoch FROM {NOW} - rests_until), 0)::float8 FROM retention_cursor
WHERE rests_until > '-infinity'
"""
#: Greatest number of jobs that ``backlog`` counts.
BACKLOG_MAX = 10_000

# A worker that has not announced its departure may be asleep. A run would never be detected as lost if its worker's row
# were missing.
# An array is selected once. As a list for IN, Postgres may select it again for each worker, and then remove more.
_REMOVE_WORKERS = f"""
DELETE FROM worker WHERE id = ANY(ARRAY(
    SELECT id FROM worker
    WHERE left_at IS NOT NULL AND lease_until < {BEFORE}
      AND NOT EXISTS (SELECT 1 FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}')
    ORDER BY lease_until LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
"""
_COUNT_WORKERS = f"""
SELECT count(*) FROM worker WHERE left_at IS NOT NULL AND lease_until < {BEFORE}
  AND NOT EXISTS (SELECT 1 FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}')
"""


class RemovalPosition(NamedTuple):
    """Position in the order in which jobs ended."""

    ended_at: datetime
    job: int


#: Position before all jobs.
START = RemovalPosition(datetime.min.replace(tzinfo=UTC), 0)


class Removed(Struct, frozen=True, kw_only=True):
    """Numbers of pruned jobs and removed rows. The ``blobs`` are in ``blob_deletion`` and not deleted yet.
    ``removed_jobs`` and ``submissions`` are removed as a whole (``job_removal``)."""

    jobs: int = 0
    transitions: int = 0
    rounds: int = 0
    steps: int = 0
    events: int = 0
    meters: int = 0
    blobs: int = 0
    workers: int = 0
    acts: int = 0
    kwargs: int = 0
    notifications: int = 0
    removed_jobs: int = 0
    submissions: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        names = self.__struct_fields__
        return Removed(**{name: getattr(self, name) + getattr(other, name) for name in names})


class RemovalStep(NamedTuple):
    """Result of one step. ``place`` is the position after which the next step continues, or None if nothing remains."""

    removed: Removed
    place: RemovalPosition | None


def prune(tx: Tx, *, keep_s: float, after: RemovalPosition = START, limit: int) -> RemovalStep:
    """Examine at most ``limit`` jobs that ended more than ``keep_s`` ago, and remove their history if allowed."""
    jobs, place = _next(tx, keep_s, after, limit)
    found = _prunable(tx, keep_s, _hold(tx, jobs))
    if found:
        state_counts.count_of(tx, found)
    return RemovalStep(_remove(tx, found) if found else Removed(), place)


def preview(tx: Tx, *, keep_s: float, after: RemovalPosition = START, limit: int) -> RemovalStep:
    """Return what ``prune`` would remove now. Nothing is changed."""
    found, place = _next(tx, keep_s, after, limit)
    if not found:
        return RemovalStep(Removed(), place)
    transitions, rounds, steps, events, meters, notifications, blobs = tx.rows(_COUNT, jobs=found)[0]
    removed = Removed(
        jobs=len(found),
        transitions=transitions,
        rounds=rounds,
        steps=steps,
        events=events,
        meters=meters,
        notifications=notifications,
        blobs=blobs,
    )
    return RemovalStep(removed, place)


def sweep(tx: Tx, *, keep_s: float, limit: int) -> RemovalStep:
    """Prune one batch from where the last one ended, unless the sweep rests or is locked. At the end of a sweep, also
    remove workers that left, acts and unused kwargs. It rests once none of these kinds had as many as ``limit``."""
    if not tx.rows(_IS_KNOWN):
        tx.write(_BEGIN)
    taken = tx.rows(_TAKE_UP)
    if not taken:
        return RemovalStep(Removed(), None)
    ended_at, job = taken[0]
    before = RemovalPosition(ended_at, job) if ended_at else START
    removed, place = prune(tx, keep_s=keep_s, after=before, limit=limit)
    if place is not None:
        tx.write(_LEAVE_OFF, ended_at=place.ended_at, job=place.job)
        return RemovalStep(removed, place)
    others = prune_others(tx, keep_s=keep_s, limit=limit)
    if max(others.workers, others.acts, others.kwargs) >= limit:
        return RemovalStep(removed + others, before)
    tx.write(_REST, rest_s=min(REST_S, keep_s * REST_SHARE))
    return RemovalStep(removed + others, None)


def backlog(tx: Tx, *, keep_s: float) -> int:
    """Return the number of jobs that ended more than ``keep_s`` ago, have a history, and come after the position of the
    sweep. At most ``BACKLOG_MAX`` are counted. Spared jobs count too, because to examine each one takes longer."""
    return int(tx.column(_BACKLOG, keep_s=keep_s, limit=BACKLOG_MAX)[0])


def overdue_s(tx: Tx) -> dict[str, float]:
    """Return for how many seconds each sweep has been due and has not ended, by name; 0 while it rests. A sweep that is
    not enabled, or has never begun, is left out."""
    return dict(tx.rows(_OVERDUE))


def prune_others(tx: Tx, *, keep_s: float, limit: int) -> Removed:
    """Remove old workers, acts and shared kwargs, at most ``limit`` of each kind. These are workers that left, acts
    that were requested, and unreferenced kwargs that were stored before that time."""
    workers = tx.write(_REMOVE_WORKERS, keep_s=keep_s, limit=limit)
    return Removed(
        workers=workers,
        acts=audit.prune(tx, keep_s=keep_s, limit=limit),
        kwargs=shared_kwargs.prune(tx, keep_s=keep_s, limit=limit),
    )


def preview_others(tx: Tx, *, keep_s: float) -> Removed:
    """Return how many workers, acts and shared kwargs ``prune_others`` could remove."""
    workers = tx.column(_COUNT_WORKERS, keep_s=keep_s)[0]
    return Removed(
        workers=workers,
        acts=audit.prunable(tx, keep_s=keep_s),
        kwargs=shared_kwargs.prunable(tx, keep_s=keep_s),
    )


def _next(
    tx: Tx, keep_s: float, after: RemovalPosition, limit: int
) -> tuple[list[int], RemovalPosition | None]:
    """Return the jobs among the next ``limit`` that may be pruned, and the position after these. Spared jobs are not
    returned, so none of them is locked."""
    rows = tx.rows(_NEXT, keep_s=keep_s, ended_at=after.ended_at, job=after.job, limit=limit)
    place = RemovalPosition(*rows[-1][:2]) if len(rows) == limit else None
    return [id for _, id, may_go in rows if may_go], place


def _hold(tx: Tx, jobs: list[int]) -> list[int]:
    """Lock the jobs that no other transaction has locked, and return them."""
    return tx.column(_HOLD, jobs=jobs) if jobs else []


def _prunable(tx: Tx, keep_s: float, jobs: list[int]) -> list[int]:
    """Return the jobs that may still be pruned. The caller has locked their rows."""
    return tx.column(_PRUNABLE, jobs=jobs, keep_s=keep_s) if jobs else []


def _remove(tx: Tx, jobs: list[int]) -> Removed:
    """Remove the history of these jobs. The caller has locked their rows."""
    tx.write(_MARK, jobs=jobs)
    rounds, blobs = tx.rows(_REMOVE_ROUNDS, jobs=jobs)[0]
    transitions = tx.column(_REMOVE_HISTORY, jobs=jobs)[0]
    gone = {field: tx.write(sql, jobs=jobs) for field, sql in _REMOVE.items()}
    return Removed(jobs=len(jobs), transitions=transitions, rounds=rounds, blobs=blobs, **gone)
