"""Pruning: what happened to jobs that ended long ago is removed; what they came to stays.

What is removed of a job: its transitions, its rounds with all that they printed, its journals, the events and meters of
its flights. What stays: its row (app, key, state, claim, terms), its needs and gates, who wanted it, its partitions and
freshness. Plans, reruns and compensations go by these alone, so whatever is planned comes out the same, and the claim,
which others may have been told as the fencing number, goes on growing. ``pruned_at`` says until when there is nothing.

What is spared, however old: whatever has not ended, is owed to its children, or whose work elsewhere is yet to be
ended; what nobody has collected that is to be; a saga that could not be undone; what a submission wants that has not
ended, or a saga across apps whose compensation is yet to be planned; what is yet to be undone by a compensation, and
that compensation. Submissions stay, since an id that is sent again is to be found, and so do firings.

Who races whom. Whoever changes a job holds its row. We take only rows that nobody holds, in id order, and ask all of
the above again in a later statement. So who plans, reruns, archives or cancels at this moment either is before us, and
then we pass over the job or find that it may not be pruned any more, or after us, and then he misses nothing, for he
reads nothing of what is gone. A submission that fails and its compensation enter in one transaction: there is no moment
between the two. A reader may find rounds without their history, or the other way.
What a crash leaves: whole jobs, pruned or not, for a batch is one transaction. The blobs of removed rounds stand in
``litter`` from then on, until somebody has thrown them away (``litter``).

Nothing here waits for anybody, and a batch costs what it looks at: it goes along the index ``job_prunable`` from where
the last one ended. What is spared is passed over once a sweep, and not with each step.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.states import State
from sluice.jobs.submission import COMPENSATION, SAGA, SubmissionState
from sluice.ledger import audit, shared_kwargs, tallies
from sluice.ledger.connection import Tx
from sluice.ledger.prunable import HAS_HISTORY
from sluice.ledger.sql import LONGEST_S, NOW

#: After a sweep, before the next begins. For a retention of minutes it is less.
REST_S = 3600.0
#: Of the retention time, what a sweep may be late at the most.
REST_SHARE = 0.1

_BEFORE = f"{NOW} - make_interval(secs => least(%(keep_s)s, {LONGEST_S}))"
_IS_KEPT = f"""
submission.state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}')
OR submission.request ->> 'mode' = '{SAGA}'
   AND submission.state IN ('{SubmissionState.FAILED}', '{SubmissionState.CANCELLED}')
   AND EXISTS (
       SELECT 1 FROM submission undo WHERE undo.id = submission.id || '{COMPENSATION}' AND undo.state IN (
           '{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}', '{SubmissionState.REFUSED}'))
"""
_SPARED = f"""
(job.handle IS NOT NULL
 OR EXISTS (SELECT 1 FROM owed WHERE owed.job = job.id)
 OR EXISTS (
     SELECT 1 FROM wants JOIN submission ON submission.number = wants.submission
     WHERE wants.job = job.id AND ({_IS_KEPT}))
 OR job.state = '{State.SUCCEEDED}' AND EXISTS (
     SELECT 1 FROM job undo
     WHERE undo.undoes = job.id AND undo.undoes_claim = job.claim AND undo.state <> '{State.SUCCEEDED}')
 OR job.state <> '{State.SUCCEEDED}' AND EXISTS (
     SELECT 1 FROM job done
     WHERE done.id = job.undoes AND done.claim = job.undoes_claim AND done.state = '{State.SUCCEEDED}'))
"""
# Along the index, whatever is spared: so a step costs what it looks at. The time is a query of its own, or the clock
# would be asked again at each job, to the youngest.
_NEXT = f"""
SELECT changed_at, id FROM job
WHERE {HAS_HISTORY} AND changed_at < (SELECT {_BEFORE})
  AND (changed_at, id) > (%(ended_at)s::timestamptz, %(job)s::bigint)
ORDER BY changed_at, id LIMIT %(limit)s
"""
# By the primary key, whatever the statistics say (as in ``sql.guard``).
_PRUNABLE = f"""
SELECT job.id FROM job
WHERE job.id = ANY(%(jobs)s) AND CASE WHEN {HAS_HISTORY} THEN changed_at < {_BEFORE} AND NOT {_SPARED} END
ORDER BY job.id
"""
_HOLD = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE SKIP LOCKED"
_KINDS = ("transition", "round", "step", "event", "meter")
_REMOVE = {kind: f"DELETE FROM {kind} WHERE job = ANY(%(jobs)s)" for kind in _KINDS if kind != "round"}
_REMOVE_ROUNDS = f"""
WITH gone AS (
    DELETE FROM round WHERE job = ANY(%(jobs)s) RETURNING output_blob, stderr_blob
), dropped AS (
    INSERT INTO litter (blob, try_at)
    SELECT blob, {NOW} FROM gone CROSS JOIN LATERAL (VALUES (output_blob), (stderr_blob)) each (blob)
    WHERE blob IS NOT NULL
    ON CONFLICT (blob) DO NOTHING
    RETURNING blob
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM dropped)
"""
_MARK = f"UPDATE job SET pruned_at = {NOW} WHERE id = ANY(%(jobs)s)"
_COUNT = f"""
SELECT {", ".join(f"(SELECT count(*) FROM {kind} WHERE job = ANY(%(jobs)s))" for kind in _KINDS)},
       (SELECT count(output_blob) + count(stderr_blob) FROM round WHERE job = ANY(%(jobs)s))
"""

_SWEEP = "history"
_BEGIN = f"""
INSERT INTO sweep (name, ended_at, job, rests_until) VALUES ('{_SWEEP}', '-infinity', 0, '-infinity')
ON CONFLICT (name) DO NOTHING
"""
_TAKE_UP = f"""
SELECT nullif(ended_at, '-infinity'), job FROM sweep
WHERE name = '{_SWEEP}' AND rests_until <= {NOW} FOR UPDATE SKIP LOCKED
"""
_IS_KNOWN = f"SELECT 1 FROM sweep WHERE name = '{_SWEEP}'"
_IS_DUE = f"""
SELECT EXISTS (SELECT 1 FROM sweep WHERE rests_until <= {NOW}) OR EXISTS (SELECT 1 FROM litter WHERE try_at <= {NOW})
"""
_LEAVE_OFF = f"UPDATE sweep SET ended_at = %(ended_at)s, job = %(job)s WHERE name = '{_SWEEP}'"
_REST = f"""
UPDATE sweep SET ended_at = '-infinity', job = 0, rests_until = {NOW} + make_interval(secs => %(rest_s)s)
WHERE name = '{_SWEEP}'
"""

# One that has not said that it leaves may be asleep. Whoever runs under one that is gone is never found to be lost.
_REMOVE_WORKERS = f"""
DELETE FROM worker WHERE id IN (
    SELECT id FROM worker
    WHERE left_at IS NOT NULL AND lease_until < {_BEFORE}
      AND NOT EXISTS (SELECT 1 FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}')
    ORDER BY lease_until LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
"""
_COUNT_WORKERS = f"""
SELECT count(*) FROM worker WHERE left_at IS NOT NULL AND lease_until < {_BEFORE}
  AND NOT EXISTS (SELECT 1 FROM job WHERE job.worker = worker.id AND job.state = '{State.RUNNING}')
"""


class Place(NamedTuple):
    """How far somebody has looked, in the order in which jobs ended."""

    ended_at: datetime
    job: int


#: Before all of them.
START = Place(datetime.min.replace(tzinfo=UTC), 0)


class Removed(Struct, frozen=True, kw_only=True):
    """How many jobs have lost their history, and what that was. The blobs stand in ``litter``."""

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

    def __add__(self, other: "Removed") -> "Removed":
        names = self.__struct_fields__
        return Removed(**{name: getattr(self, name) + getattr(other, name) for name in names})


class Stretch(NamedTuple):
    """What became of some jobs; ``place`` is behind the last of them, or None where there are no others."""

    removed: Removed
    place: Place | None


def prune(tx: Tx, *, keep_s: float, after: Place = START, limit: int) -> Stretch:
    """Look at so many jobs that ended longer ago than ``keep_s``; those that may be pruned lose their history."""
    jobs, place = _next(tx, keep_s, after, limit)
    found = _prunable(tx, keep_s, _hold(tx, _prunable(tx, keep_s, jobs)))
    if found:
        tallies.count_of(tx, found)
    return Stretch(_remove(tx, found) if found else Removed(), place)


def preview(tx: Tx, *, keep_s: float, after: Place = START, limit: int) -> Stretch:
    """What ``prune`` would remove, as it stands. It changes nothing."""
    jobs, place = _next(tx, keep_s, after, limit)
    found = _prunable(tx, keep_s, jobs)
    if not found:
        return Stretch(Removed(), place)
    transitions, rounds, steps, events, meters, blobs = tx.rows(_COUNT, jobs=found)[0]
    removed = Removed(
        jobs=len(found),
        transitions=transitions,
        rounds=rounds,
        steps=steps,
        events=events,
        meters=meters,
        blobs=blobs,
    )
    return Stretch(removed, place)


def sweep(tx: Tx, *, keep_s: float, limit: int) -> Removed:
    """The same where the last sweep left off, by one at a time; nothing while that rests. Workers that left, acts, and
    unused kwargs go at its end."""
    if not tx.rows(_IS_KNOWN):
        tx.write(_BEGIN)
    taken = tx.rows(_TAKE_UP)
    if not taken:
        return Removed()
    ended_at, job = taken[0]
    removed, place = prune(tx, keep_s=keep_s, after=Place(ended_at, job) if ended_at else START, limit=limit)
    if place is not None:
        tx.write(_LEAVE_OFF, ended_at=place.ended_at, job=place.job)
        return removed
    tx.write(_REST, rest_s=min(REST_S, keep_s * REST_SHARE))
    return removed + prune_others(tx, keep_s=keep_s, limit=limit)


def is_due(tx: Tx) -> bool:
    """Whether a sweep is under way or has rested, or blobs are to be thrown away. One that has never begun is not."""
    return bool(tx.column(_IS_DUE)[0])


def prune_others(tx: Tx, *, keep_s: float, limit: int) -> Removed:
    """Forget so many workers that left longer ago than that, so many acts that were asked for before that, and so many
    shared kwargs from before that which no job refers to."""
    workers = tx.write(_REMOVE_WORKERS, keep_s=keep_s, limit=limit)
    return Removed(
        workers=workers,
        acts=audit.prune(tx, keep_s=keep_s, limit=limit),
        kwargs=shared_kwargs.prune(tx, keep_s=keep_s, limit=limit),
    )


def preview_others(tx: Tx, *, keep_s: float) -> Removed:
    """How many of these there are."""
    workers = tx.column(_COUNT_WORKERS, keep_s=keep_s)[0]
    return Removed(
        workers=workers,
        acts=audit.prunable(tx, keep_s=keep_s),
        kwargs=shared_kwargs.prunable(tx, keep_s=keep_s),
    )


def _next(tx: Tx, keep_s: float, after: Place, limit: int) -> tuple[list[int], Place | None]:
    rows = tx.rows(_NEXT, keep_s=keep_s, ended_at=after.ended_at, job=after.job, limit=limit)
    place = Place(*rows[-1]) if len(rows) == limit else None
    return [id for _, id in rows], place


def _hold(tx: Tx, jobs: list[int]) -> list[int]:
    """Those of the jobs that nobody else has in hand."""
    return tx.column(_HOLD, jobs=jobs) if jobs else []


def _prunable(tx: Tx, keep_s: float, jobs: list[int]) -> list[int]:
    """Asked before the jobs are held, so that what is spared is not, and again in a later statement than that."""
    return tx.column(_PRUNABLE, jobs=jobs, keep_s=keep_s) if jobs else []


def _remove(tx: Tx, jobs: list[int]) -> Removed:
    """The history of these jobs, whose rows are held."""
    rounds, blobs = tx.rows(_REMOVE_ROUNDS, jobs=jobs)[0]
    gone = {f"{kind}s": tx.write(sql, jobs=jobs) for kind, sql in _REMOVE.items()}
    tx.write(_MARK, jobs=jobs)
    return Removed(jobs=len(jobs), rounds=rounds, blobs=blobs, **gone)
