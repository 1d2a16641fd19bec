"""Submissions: received once, planned once, and settled when no work of theirs remains.

A submission in state ``received`` is its own outbox: the groomer has it planned, however it was entered (message,
command line or SQL function). While it waits to be planned, it can be locked, delayed or refused.

``blocking_job`` is one job that an active submission still waits for. Only when that job ends is another one searched
for, so settling is cheap however many jobs a submission has. The blocking job is the job that was planned last: parents
are planned before their children, and jobs run in that order. So when it ends, few unfinished jobs are left.

Race of planners: each locks the submissions that it plans until its transaction ends. It skips locked submissions, so
that a large plan does not delay others. It sends a message about submissions that it locked and did not plan.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import COMPENSATION, SAGA, Refusal, Submission, SubmissionState, conflict
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.states import CANCEL, LIVE, STOPPABLE, By, State, sql_list
from sluice.ledger.database.connection import ChangedMeanwhile, Tx, arrays
from sluice.ledger.database.driver import Row
from sluice.ledger.database.notify import ENDS
from sluice.ledger.database.transitions import NOW, move
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.job_graph.demand import UNWANTED, WAKING, WATCHING
from sluice.ledger.job_graph.dependencies import add_to_outbox
from sluice.ledger.job_graph.readiness import move_out
from sluice.ledger.job_graph.submission_locks import CANCELLATIONS
from sluice.ledger.lifecycle import plan_attempts, requests
from sluice.ledger.lifecycle.requests import BODY
from sluice.ledger.lifecycle.rounds import interrupt
from sluice.ledger.limits import pauses
from sluice.ledger.sagas.abortion import abort
from sluice.ledger.schema.prunable import HAS_HISTORY

_LIVE = sql_list(*sorted(LIVE))
_STOPPABLE = sql_list(*sorted(STOPPABLE))
#: States of jobs that cannot be stopped, but may wait again without a new request.
_REVIVABLE = sql_list(State.EXECUTED, State.UPSTREAM_FAILED, State.SKIPPED)
#: States that do not make a submission fail. A submission that requested a split job also requests its halves.
_GOOD = sql_list(State.SUCCEEDED, State.SKIPPED, State.SPLIT)

#: SQL in a RETURNING clause that notifies the clients that wait for the submission. NOTIFY makes commits wait for each
#: other, so there is none unless a client waits (``lifecycle.awaited_ends``).
_NOTIFIED = f"CASE WHEN submission.awaited THEN pg_notify('{ENDS}', submission.number::text)::text END"
_GIVEN = """
unnest(%(id)s::text[], %(app)s::text[], %(state)s::text[], %(request)s::text[], %(push)s::bool[], %(reason)s::text[],
       %(message)s::text[]) WITH ORDINALITY AS new (id, app, state, request, push, reason, message, nth)
"""
_RECEIVE = f"""
INSERT INTO submission (id, app, state, request, push, reason, message, received_at, ended_at, awaited)
SELECT id, app, state, request::jsonb, push, reason, message, {NOW}, CASE WHEN reason IS NOT NULL THEN {NOW} END,
       %(awaited)s
FROM {_GIVEN}
ON CONFLICT (id) DO NOTHING
RETURNING id
"""
# A refused submission waits for nothing, so its row is never locked for long. If two transactions renew it
# concurrently, the second one finds it received and is compared with the first. ``sluice.submit`` does the same. A
# redelivered message renews nothing.
_RENEW = f"""
WITH held AS MATERIALIZED (
    SELECT number, new.* FROM submission JOIN {_GIVEN} USING (id)
    WHERE submission.state = '{SubmissionState.REFUSED}' AND new.state = '{SubmissionState.RECEIVED}'
      AND coalesce(new.message <> submission.message, true)
    ORDER BY number FOR UPDATE OF submission
)
UPDATE submission SET
    app = held.app, state = held.state, request = held.request::jsonb, push = held.push, message = held.message,
    reason = NULL, blocking_job = NULL, next_plan_at = NULL, received_at = {NOW}, planned_at = NULL, paused_at = NULL,
    ended_at = NULL
FROM held WHERE submission.number = held.number AND submission.state = '{SubmissionState.REFUSED}'
RETURNING submission.id
"""
_DIFFERING = f"""
SELECT nth, submission.number IS NULL FROM {_GIVEN} LEFT JOIN submission USING (id)
WHERE submission.number IS NULL
   OR submission_content(submission.request) <> submission_content(new.request::jsonb)
ORDER BY nth
"""
_ACTIVATE = f"""
UPDATE submission SET state = '{SubmissionState.ACTIVE}', planned_at = {NOW}, reason = NULL, blocking_job = NULL
WHERE number = ANY(%(numbers)s)
"""
_NOTE = "UPDATE submission SET reason = %(reason)s WHERE number = %(number)s"
# When a submission is planned and its blocking job is one that it names, no client's wait is over.
_IS_JUST_PLANNED = f"""
(looked.before IS NULL AND EXISTS (
    SELECT 1 FROM submission_job
    WHERE submission_job.submission = looked.number AND submission_job.job = looked.open
      AND submission_job.request_reason = {RequestReason.ASKED:d}))
"""
# A job keeps its submission open while it lives or its end has not been propagated. The exception is a job that was
# only pushed and waits for its parents: the submission has not requested these, so it might stay open indefinitely.
# Requested jobs keep the submission open themselves. The caller may have locked jobs, and a cancellation locks the
# submission before its jobs. So a locked submission is left to ``settle_missed``. CASE and ``number + 0``: as in
# ``_NAMED``. ANY: a merge join, which would read the whole index, needs an equation.
_SETTLE = f"""
WITH candidate AS (
    SELECT number, blocking_job FROM submission s
    WHERE number = ANY(%(numbers)s) AND CASE WHEN state = '{SubmissionState.ACTIVE}' THEN true END
    ORDER BY number + 0 FOR UPDATE SKIP LOCKED
), looked AS (
    SELECT candidate.number, candidate.blocking_job AS before, (
        SELECT job.id FROM submission_job JOIN job ON job.id = submission_job.job
        WHERE submission_job.submission = candidate.number
          AND (job.state IN ({_LIVE}) OR EXISTS (SELECT 1 FROM propagation_outbox
              WHERE propagation_outbox.job = job.id))
          AND NOT (submission_job.request_reason = {RequestReason.PUSHED:d} AND job.state = '{State.WAITING}'
              AND NOT job.unblocked)
        ORDER BY submission_job.job DESC LIMIT 1) AS open
    FROM candidate
), bad AS (
    SELECT looked.number FROM looked WHERE open IS NULL AND EXISTS (
        SELECT 1 FROM submission_job JOIN job ON job.id = submission_job.job
        WHERE submission_job.submission = looked.number AND submission_job.request_reason <> {RequestReason.PULLED:d}
          AND job.state NOT IN ({_GOOD}, {_LIVE}))
)
UPDATE submission SET
    blocking_job = looked.open,
    ended_at = CASE WHEN looked.open IS NULL THEN {NOW} END,
    state = CASE WHEN looked.open IS NOT NULL THEN '{SubmissionState.ACTIVE}'
                 WHEN looked.number IN (SELECT number FROM bad) THEN '{SubmissionState.FAILED}'
                 ELSE '{SubmissionState.SUCCEEDED}' END
FROM looked WHERE submission.number = ANY(ARRAY[looked.number])
RETURNING submission.number, submission.state, CASE WHEN NOT {_IS_JUST_PLANNED} THEN {_NOTIFIED} END
"""
_WATCHING = f"WITH woken AS ({WAKING}) {WATCHING}"
_ACTIVE = f"SELECT number, blocking_job FROM submission WHERE state = '{SubmissionState.ACTIVE}'"
#: Number of active submissions with the oldest blocking jobs, which each look of the leader reads: 1,000.
FIRST_ACTIVE = 1000
#: Seconds after the end of a blocking job in which each look reads its submission: 5. A submission misses the end if
#: another transaction settles it at the same time, which takes milliseconds.
ENDED_LATELY_S = 5.0
_ENDED_LATELY = f"""
SELECT id FROM job WHERE {HAS_HISTORY} AND changed_at > (SELECT {NOW} - make_interval(secs => {ENDED_LATELY_S}))
"""


def _unwatched(active: str) -> str:
    """Return a query for the submissions among these whose blocking job has ended or is missing."""
    # LIMIT, so that each job is found by its id. A join would read all jobs for each submission, if it was planned for
    # an empty table.
    return f"""
    SELECT number FROM ({active}) AS active
    LEFT JOIN LATERAL (SELECT id, state FROM job WHERE job.id = active.blocking_job LIMIT 1) AS job ON true
    WHERE job.id IS NULL OR job.state NOT IN ({_LIVE})
        AND NOT EXISTS (SELECT 1 FROM propagation_outbox WHERE propagation_outbox.job = job.id)
    """


#: Query for submissions that the groomer settles, because they missed the end of their blocking job. It reads all
#: active submissions, which takes about 0.1 seconds for 100,000.
UNWATCHED = f"{_unwatched(_ACTIVE)} LIMIT %(limit)s"
#: The part of ``UNWATCHED`` that each look reads, in about a millisecond.
UNWATCHED_LATELY = f"""
{_unwatched(f"{_ACTIVE} ORDER BY blocking_job LIMIT {FIRST_ACTIVE}")} UNION ALL
{_unwatched(f"{_ACTIVE} AND blocking_job = ANY(ARRAY({_ENDED_LATELY}))")} LIMIT %(limit)s
"""

# A saga that ends unsuccessfully is compensated by a submission of the same transaction. Its id belongs to the ledger:
# a row that was inserted under it by SQL and is not a compensation has not been planned, and is overwritten.
_COMPENSATE = f"""
INSERT INTO submission (id, app, state, request, push, received_at, next_plan_at)
SELECT id || '{COMPENSATION}', app, '{SubmissionState.RECEIVED}',
       jsonb_build_object('app', app, 'compensates', id, 'push', 'wanted'), false, {NOW}, {NOW}
FROM submission
WHERE number = ANY(%(numbers)s) AND request ->> 'mode' = '{SAGA}' AND planned_at IS NOT NULL
  AND state IN ('{SubmissionState.FAILED}', '{SubmissionState.CANCELLED}')
ORDER BY number
ON CONFLICT (id) DO UPDATE SET
    app = excluded.app, state = excluded.state, request = excluded.request, push = excluded.push, reason = NULL,
    received_at = excluded.received_at, next_plan_at = excluded.next_plan_at, planned_at = NULL, ended_at = NULL
WHERE submission.state NOT IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}')
   OR NOT submission.request ? 'compensates'
"""

_CANCEL = f"""
UPDATE submission SET state = '{SubmissionState.CANCELLED}', ended_at = {NOW}
WHERE id = %(id)s AND state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}')
RETURNING number, {_NOTIFIED}
"""
# The request stays, so the submission is planned again for the jobs that have not succeeded. A saga and the submission
# that compensates it are never open at the same time.
_RETRY = f"""
UPDATE submission SET state = '{SubmissionState.RECEIVED}', ended_at = NULL, reason = NULL, blocking_job = NULL,
    next_plan_at = {NOW}
WHERE id = %(id)s AND state IN ('{SubmissionState.FAILED}', '{SubmissionState.CANCELLED}') AND paused_at IS NULL
  AND NOT EXISTS (
      SELECT 1 FROM submission other
      WHERE other.id IN (submission.id || '{COMPENSATION}', submission.request ->> 'compensates')
        AND other.state IN ('{SubmissionState.RECEIVED}', '{SubmissionState.ACTIVE}'))
RETURNING number
"""
# A saga across apps, and its compensation, are run again only as a whole.
_REOPEN = f"""
WITH held AS MATERIALIZED (
    SELECT number FROM submission
    WHERE number IN (SELECT submission FROM submission_job WHERE job = ANY(%(jobs)s))
      AND state = '{SubmissionState.FAILED}' AND paused_at IS NULL
      AND request ->> 'mode' IS DISTINCT FROM '{SAGA}' AND NOT request ? 'compensates'
    ORDER BY number FOR UPDATE
)
UPDATE submission SET state = '{SubmissionState.ACTIVE}', ended_at = NULL, reason = NULL, blocking_job = NULL
FROM held WHERE submission.number = held.number AND submission.state = '{SubmissionState.FAILED}'
RETURNING submission.number
"""
# An executed job cannot be stopped, but its judgement may retry it. A job that could not run because of its parents
# cannot be stopped, but a plan that requests a parent again may revive it. Both are locked like the others. Either this
# transaction finds them waiting afterwards, or the other one finds them no longer requested.
_WANTED_BY = f"""
SELECT job.id FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = ANY(%(numbers)s) AND job.state IN ({_STOPPABLE}, {_REVIVABLE})
"""
_HOLD = "SELECT id, saga_open FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE"
_CANCEL_UNWANTED = move(CANCEL, By.PLANNER, condition=f"NOT job.saga_open AND {UNWANTED}")
_CANCEL_ANYWAY = move(CANCEL, By.PLANNER, condition="NOT job.saga_open")


class _Row(NamedTuple):
    """Columns of a new submission.

    ``push`` is true if its children are pushed. ``reason`` is set if it is refused. ``message`` is the id of the
    message that contained it.
    """

    id: str
    app: str
    state: SubmissionState
    request: str
    push: bool
    reason: str | None
    message: str | None


class Admitted(NamedTuple):
    """Result of admitting submissions.

    ``new`` are ids that were free or belonged to refused submissions. ``conflicts`` are indexes into the given
    submissions with an id that belongs to a submission with another content. These are not in the ledger.
    """

    new: set[str]
    conflicts: list[int]


def receive(tx: Tx, submissions: Sequence[Submission], *, awaited: bool = False) -> set[str]:
    """Receive submissions. Return the new ids; raise Conflict if an id belongs to a submission with another content.

    ``awaited``: a client is about to wait for the new ones (``lifecycle.awaited_ends``).
    """
    admitted = admit(tx, submissions, awaited=awaited)
    for place in admitted.conflicts:
        raise conflict(submissions[place])
    return admitted.new


def admit(
    tx: Tx,
    submissions: Sequence[Submission],
    reasons: Sequence[str] = (),
    messages: Sequence[str] = (),
    *,
    awaited: bool = False,
) -> Admitted:
    """Receive all submissions without a conflict.

    ``reasons`` and ``messages`` are parallel to ``submissions``. A submission with a reason is refused and stored. The
    id of the message distinguishes a redelivery from a new attempt.

    Only repeated ids cost more than one statement. Later statements see everything that was committed before them. So
    if two clients use an id concurrently, the second submission is compared with the first.
    """
    rows = [_row(*each) for each in zip_longest(submissions, reasons, messages)]
    first = {row.id: place for place, row in reversed([*enumerate(rows)])}
    new = set(tx.column(_RECEIVE, **_given(rows), awaited=awaited))
    if there := [rows[place] for id_, place in first.items() if id_ not in new]:
        new |= set(tx.column(_RENEW, **_given(there)))
    repeated = [place for place, row in enumerate(rows) if row.id not in new or first[row.id] != place]
    conflicts = _conflicts(tx, rows, repeated)
    requests.note(tx, _refusals(row for place, row in enumerate(rows) if place not in repeated))
    return Admitted(new, conflicts)


def _conflicts(tx: Tx, rows: Sequence[_Row], repeated: Sequence[int]) -> list[int]:
    """Return the indexes among ``repeated`` of the rows with another content than the ledger has under their id."""
    if not repeated:
        return []
    differing = tx.rows(_DIFFERING, **_given([rows[place] for place in repeated]))
    if any(is_gone for _, is_gone in differing):
        raise ChangedMeanwhile
    return [repeated[nth - 1] for nth, _ in differing]


def _refusals(rows: Iterable[_Row]) -> list[Refusal]:
    return [Refusal(row.id, row.app, row.reason) for row in rows if row.reason is not None]


def _row(submission: Submission, reason: str | None, message: str | None) -> _Row:
    return _Row(
        submission.require_id(),
        submission.app,
        SubmissionState.REFUSED if reason else SubmissionState.RECEIVED,
        msgspec.json.encode(submission).decode(),
        submission.push == "all",
        reason or None,
        message,
    )


def _given(rows: Sequence[_Row]) -> dict[str, list[object]]:
    return arrays(rows, *_Row._fields)


def activate(tx: Tx, numbers: list[int]) -> None:
    """Mark these submissions as planned. From now on their requests count."""
    tx.write(_ACTIVATE, numbers=numbers)


def record_unchanged(tx: Tx, number: int, reason: str) -> None:
    """Record with an open submission which of its jobs are left unchanged, and why."""
    tx.write(_NOTE, number=number, reason=reason)


def settle(tx: Tx, numbers: list[int]) -> None:
    """End the submissions that have nothing left to wait for. Give the others a new blocking job."""
    settled = tx.rows(_SETTLE, numbers=sorted(numbers)) if numbers else []
    compensate(tx, [number for number, state, _ in settled if state == SubmissionState.FAILED])


def compensate(tx: Tx, ended: list[int]) -> None:
    """Compensate the sagas among these submissions that have failed or were cancelled.

    The compensation is another submission, which is planned when no job of theirs runs any more.
    """
    if ended:
        tx.write(_COMPENSATE, numbers=ended)


def settle_blocked_by(tx: Tx, jobs: list[int]) -> None:
    """Settle submissions with a blocking job among these jobs. Unplanned submissions that wait for one become due."""
    if not jobs:
        return
    settle(tx, tx.column(_WATCHING, jobs=jobs))


def settle_missed(tx: Tx, limit: int, *, all_active: bool) -> int:
    """Settle the submissions that missed the end of their blocking job. Return how many were found.

    Unless ``all_active``, they are searched for where they most likely are (``UNWATCHED_LATELY``).
    """
    numbers = {*tx.column(UNWATCHED if all_active else UNWATCHED_LATELY, limit=limit)}
    settle(tx, [*numbers])
    return len(numbers)


def retry(tx: Tx, id: str) -> bool:
    """Reopen a failed or cancelled submission. The planner then runs its unsuccessful jobs again.

    Return False and change nothing if it is in another state or paused. The same applies to a saga that is being
    compensated, and to a compensation of an open saga.
    """
    return bool(tx.column(_RETRY, id=id))


def reopen(tx: Tx, jobs: list[int]) -> list[int]:
    """Make the failed submissions that requested any of these jobs active again. Return their numbers.

    The caller runs the jobs again in this transaction, and then settles the submissions. Call it before the jobs are
    locked: a cancellation locks its submission first. Paused submissions, sagas across apps and compensations stay
    failed.
    """
    return tx.column(_REOPEN, jobs=jobs)


def cancel(tx: Tx, id: str) -> list[int] | None:
    """Cancel a submission and the jobs that no other submission requests. Return them, or None if nothing was open.

    Sagas among them that have started are not cancelled yet, but undone first (``abortion``). The jobs are locked
    before the requests of other submissions are read, in a later statement. A plan that requests such a job locks it
    too. So either the plan sees it cancelled, or this transaction sees it requested.

    Transactions that plan children of its jobs have ended before the jobs are read. A transaction that plans another
    alternative of a job has locked that job. When this one gets the lock, it reads again which jobs are requested.
    """
    CANCELLATIONS.take_alone(tx, id)
    return _cancel(tx, id)


def cancel_all(tx: Tx, ids: Sequence[str]) -> list[int]:
    """Cancel these submissions as ``cancel`` does, and return the jobs."""
    if not ids:
        return []
    CANCELLATIONS.take_alone(tx, *ids)
    return [job for id in ids for job in _cancel(tx, id) or ()]


def _cancel(tx: Tx, id: str) -> list[int] | None:
    numbers = tx.column(_CANCEL, id=id)
    if not numbers:
        return None
    compensate(tx, numbers)
    cancelled: list[int] = []
    locked: set[int] = set()
    while candidates := [job for job in tx.column(_WANTED_BY, numbers=numbers) if job not in locked]:
        locked.update(candidates)
        cancelled += cancel_unwanted(tx, candidates)
    pauses.apply_to_unrequested(tx, sorted(locked.difference(cancelled)))
    return cancelled


def cancel_job(tx: Tx, name: JobName) -> list[int]:
    """Cancel one job, even if submissions request it; to them it has ended badly. Its children are notified of its end.

    A saga that has started is undone first.
    """
    return cancel_jobs(tx, [name])


def cancel_jobs(tx: Tx, names: Sequence[JobName]) -> list[int]:
    """Cancel these jobs as ``cancel_job`` does, and return the jobs that have ended."""
    jobs = [job.id for job in known_jobs.find(tx, names).values()]
    saga_open = _with_open_saga(tx.rows(_HOLD, jobs=jobs))
    cancelled = move_out(tx, _CANCEL_ANYWAY, jobs=jobs)
    interrupt(tx, cancelled, CANCEL.target)
    add_to_outbox(tx, cancelled)
    if saga_open:
        abort(tx, By.PLANNER, saga_open, AbortReason.CANCELLED)
    return cancelled


def cancel_unwanted(tx: Tx, jobs: list[int]) -> list[int]:
    """Cancel the jobs that no active submission requests. Their ends go to the propagation outbox."""
    saga_open = _with_open_saga(tx.rows(_HOLD, jobs=jobs))
    cancelled = move_out(tx, _CANCEL_UNWANTED, jobs=jobs)
    interrupt(tx, cancelled, CANCEL.target)
    add_to_outbox(tx, cancelled)
    if saga_open:
        abort(tx, By.PLANNER, saga_open, AbortReason.UNWANTED)
    return cancelled


def _with_open_saga(held: Iterable[Row]) -> list[int]:
    return [id for id, saga_open in held if saga_open]


#: Most keys of a small submission. Any other submission is planned alone, by a message of its own: one with 100,000
#: keys took 59 s, in which no job planned in the same transaction could start.
FEW_KEYS = 20

#: Seconds after which a waiting submission may have killed a planner: 10, five times the delay of a lost message.
LATE_S = 10.0

# A CASE, so that submissions are found by their ids (see ``transitions.guard``). For the same reason their order is by
# ``number + 0``, which no index has.
_NAMED = f"""
FROM submission WHERE id = ANY(%(ids)s)
    AND CASE WHEN state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL THEN true END
"""
_ATTEMPTED = "EXISTS (SELECT 1 FROM plan_attempt WHERE plan_attempt.submission = submission.number)"
_COLUMNS = f"number, id, planned_at IS NOT NULL AS again, {_ATTEMPTED} AS attempted"
_HOLD_UNPLANNED = f"SELECT {_COLUMNS} {_NAMED} ORDER BY number + 0 FOR UPDATE"
_TAKE = f"{_HOLD_UNPLANNED} SKIP LOCKED"
_RECEIVED = f"""
SELECT {_COLUMNS}, {BODY} AS body,
       received_at > {NOW} - make_interval(secs => %(grace_s)s) AS recent,
       received_at < {NOW} - make_interval(secs => {LATE_S}) AS late
"""
_IS_LARGE = f"""
request ->> 'key' IS NULL AND (request -> 'keys' -> 0 IS NULL OR request -> 'keys' -> {FEW_KEYS} IS NOT NULL)
"""
# One CASE, for which Postgres estimates half of the submissions. If it estimated a few, it would read all that wait and
# sort them, instead of reading the first ones by the index.
_HOLD_PILED_UP = f"""
WITH named AS MATERIALIZED (
    {_RECEIVED} {_NAMED} AND coalesce(next_plan_at <= {NOW}, true)
    ORDER BY number + 0 FOR UPDATE SKIP LOCKED
), behind AS MATERIALIZED (
    {_RECEIVED} FROM submission
    WHERE state = '{SubmissionState.RECEIVED}'
      AND received_at >= (SELECT min(received_at) FROM submission WHERE id = ANY(%(ids)s))
      AND NOT EXISTS (SELECT 1 FROM submission WHERE id = ANY(%(ids)s) AND {_IS_LARGE})
      AND NOT EXISTS (SELECT 1 FROM named WHERE attempted)
      AND CASE WHEN paused_at IS NULL AND next_plan_at IS NULL AND request -> 'keys' -> {FEW_KEYS} IS NULL
                    AND id <> ALL(%(ids)s) AND NOT {_ATTEMPTED} THEN true END
    ORDER BY received_at, number LIMIT %(room)s FOR UPDATE SKIP LOCKED
)
SELECT *, true AS named FROM named UNION ALL SELECT *, false FROM behind ORDER BY number
"""
_SET_ASIDE = f"""
UPDATE submission SET next_plan_at = {NOW} + make_interval(secs => %(seconds)s), reason = %(reason)s
WHERE number = ANY(%(numbers)s)
"""
_WAIT = f"""
UPDATE submission SET blocking_job = %(job)s, next_plan_at = {NOW} + make_interval(secs => %(seconds)s),
    reason = %(reason)s
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
"""
_REFUSE = f"""
UPDATE submission SET reason = %(reason)s, ended_at = {NOW},
    state = CASE WHEN planned_at IS NULL THEN '{SubmissionState.REFUSED}' ELSE '{SubmissionState.FAILED}' END
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
RETURNING id, app, reason, {_NOTIFIED}
"""
_CANCEL_UNPLANNED = f"""
UPDATE submission SET state = '{SubmissionState.CANCELLED}', reason = %(reason)s, ended_at = {NOW}
WHERE number = %(number)s AND state = '{SubmissionState.RECEIVED}'
RETURNING {_NOTIFIED}
"""


class HeldSubmission(Struct, frozen=True):
    """Submission that waits to be planned, locked by this transaction.

    ``again``: it was planned before, and is retried. ``attempted``: a worker has recorded an attempt at planning it
    (``plan_attempts``).
    """

    number: int
    id: str
    again: bool
    attempted: bool


class ReceivedSubmission(HeldSubmission, frozen=True):
    """Submission that waits to be planned, with its request.

    ``body`` is the request as text (``requests.read``), which may be unreadable. A ``recent`` submission came within
    the grace period for unknown apps, a ``late`` one more than ``LATE_S`` ago. It is ``named`` if a message names it,
    and not if it only piled up behind named ones.
    """

    body: str | None
    recent: bool
    late: bool
    named: bool = True


def lock_unplanned(tx: Tx, ids: list[str]) -> list[HeldSubmission]:
    """Lock the submissions that are not planned yet and not paused.

    Submissions that were set aside are included, because the planner that set them aside continues with them.
    """
    return tx.structs(HeldSubmission, _HOLD_UNPLANNED, ids=ids)


def lock_one_unplanned(tx: Tx, id: str) -> HeldSubmission | None:
    """Lock a submission that is still to be planned and not paused. None if there is no such submission.

    Also None if another planner has locked it, or if it was attempted before and another planner holds the lock for
    such submissions.
    """
    held = tx.structs(HeldSubmission, _TAKE, ids=[id])
    if not held or (held[0].attempted and not plan_attempts.take_turn(tx)):
        return None
    return held[0]


def lock_pending(tx: Tx, ids: list[str], *, most: int, grace_s: float) -> list[ReceivedSubmission]:
    """Lock the named submissions that are not set aside, and small ones behind them; ``most`` in all.

    Later submissions are included only if all named ones are small and none was attempted before. They must be small
    too, and neither delayed nor attempted.
    """
    room = max(most - len(ids), 0)
    return tx.structs(ReceivedSubmission, _HOLD_PILED_UP, ids=ids, room=room, grace_s=grace_s)


def set_aside(tx: Tx, numbers: list[int], *, for_s: float, reason: str | None = None) -> None:
    """Keep planners from these submissions for ``for_s`` seconds. Either the caller continues with them outside of this
    transaction, or ``reason`` is why they cannot be planned yet."""
    if numbers:
        tx.write(_SET_ASIDE, numbers=numbers, seconds=for_s, reason=reason)


def refuse(tx: Tx, number: int, reason: str) -> None:
    """Refuse a submission and keep it with its reason. No job of it will run, and its id may be used again. The refusal
    is counted and logged. A submission that was planned before becomes ``failed`` again."""
    requests.note(tx, [Refusal(*row[:3]) for row in tx.rows(_REFUSE, number=number, reason=reason)])


def delay(tx: Tx, number: int, *, job: int | None, reason: str, within_s: float) -> None:
    """Leave a submission unplanned until the job has ended, or for ``within_s`` seconds, whichever is first."""
    tx.write(_WAIT, number=number, job=job, reason=reason, seconds=within_s)


def cancel_unplanned(tx: Tx, number: int, reason: str) -> None:
    """Cancel a submission before it is planned, because it has no work."""
    tx.write(_CANCEL_UNPLANNED, number=number, reason=reason)
