"""Jobs that a successful job adds to its submissions (``job.expand``, see ``jobs.expansions``).

The expansion is stored in the transaction that records the success, under the claim of the run. The column
``job.expansion`` of the expanding job is then ``open``. It stays in the propagation outbox until a planner has planned
the added jobs and has set the column to ``entered``, in one transaction. So they are planned exactly once for each
success, also after a crash. Until then the success decides no need (``dependencies.EXPANDING``): a child of the job
may need the added jobs too.

The added jobs have a need of the expanding job that is marked ``added``, and the job that follows them has such needs
of all of them. So the ledger knows the jobs of an earlier expansion, and a plan by the definitions keeps these needs.

Races:

- Two planners of one expansion: the row of ``expansion`` is locked. The second one finds it without a body.
- Planners of two jobs that name the same last job: each takes the advisory lock of that job before its walk reads
  anything (``lock_followers``). So the second one reads the needs that the first one has added, and keeps them.
- A planner against a rerun of the expanding job: the planner locks its row. It finds it succeeded, and the rerun comes
  after the plan. Or it finds it waiting, and leaves the expansion to the next success, which replaces it.
- A planner against a cancellation: the planner locks the submissions before it reads their states.
- A planner against a plan that requests the last job: each of them locks the job and then reads the other's writes
  (``lacking_requests``). If the plan has read the needs of the job before, it walks to the added jobs again. If it has
  requested the job before, the planner walks for its submission too.
- A planner against a plan that requests the expanding job: the plan may come after the planner has read the
  submissions, and before it holds the job. Then the planner leaves the expansion in the outbox
  (``has_other_requesters``).
- An outcome that comes too late: it may store an expansion under its claim, but no planner reads it, because the job
  has not succeeded under that claim. It replaces no expansion of a later claim.

A job that no active submission requests is expanded for ended submissions, if jobs of theirs wait for it. Otherwise it
is left ``open`` and is removed from the outbox, unless it has requests by then (``lock_requested``). A plan that finds
it puts it back, and so does another run of a job that needs it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sluice.jobs.expansions import Expansion, decoded
from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.job_graph import dependencies
from sluice.ledger.job_graph.demand import STILL_WANTS

_STORE = """
INSERT INTO expansion (job, claim, body)
SELECT job, claim, body::jsonb
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[], %(bodies)s::text[]) AS given (job, claim, body) ORDER BY job
ON CONFLICT (job) DO UPDATE SET claim = excluded.claim, body = excluded.body WHERE expansion.claim < excluded.claim
"""
_OPEN = """
UPDATE job SET expansion = 'open'
FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (id, claim)
WHERE job.id = given.id AND job.claim = given.claim AND job.expansion IS DISTINCT FROM 'open'
"""
_REPLACE = """
UPDATE expansion SET claim = job.claim, body = '[]'
FROM job WHERE job.id = expansion.job AND job.id = ANY(%(jobs)s) AND expansion.claim < job.claim
"""
_REOPEN = "UPDATE job SET expansion = 'open' WHERE id = ANY(%(jobs)s) AND expansion = 'entered'"
_LOCK_OPEN = f"""
WITH held AS MATERIALIZED (
    SELECT job, claim, body FROM expansion WHERE job = %(job)s AND body IS NOT NULL FOR UPDATE
)
SELECT job.id, job.app, job.key, held.body::text
FROM held JOIN job ON job.id = held.job AND job.claim = held.claim
WHERE job.state = '{State.SUCCEEDED}' AND job.expansion = 'open' FOR UPDATE OF job
"""
# An added job is shared if it has needs that were not added by this job, nor for jobs that this job has added.
_ADDED_BEFORE = """
SELECT DISTINCT child.id, child.app, child.key, child.state, EXISTS (
    SELECT FROM need other WHERE other.child = child.id AND other.added AND other.parent <> need.parent
    AND NOT EXISTS (SELECT FROM need own WHERE own.child = other.parent AND own.parent = need.parent AND own.added))
FROM need JOIN job child ON child.id = need.child WHERE need.parent = %(job)s AND need.added ORDER BY child.id
"""
#: First key of the advisory locks of last jobs. The second is a hash of the name, below ``_LOCKS_MAX``.
_FOLLOWERS, _LOCKS_MAX = 5_318_013, 64
_LOCK_FOLLOWERS = f"""
SELECT pg_advisory_xact_lock({_FOLLOWERS}, slot) FROM (
    SELECT DISTINCT abs(mod(hashtext(part ->> 'then'), {_LOCKS_MAX})) AS slot
    FROM expansion, jsonb_array_elements(body) AS part
    WHERE expansion.job = %(job)s AND part ->> 'then' IS NOT NULL ORDER BY slot
) slots
"""
# Submissions with requests for the jobs, or for children that wait for them. The lock keeps them from being cancelled.
_ASKING = f"""
SELECT job, submission, request_reason FROM submission_job WHERE job = %(job)s
UNION ALL
SELECT need.parent, asked.submission, {RequestReason.PULLED:d}
FROM need JOIN job child ON child.id = need.child AND child.state = '{State.WAITING}'
    JOIN submission_job asked ON asked.job = child.id
WHERE need.parent = %(job)s
"""
# Submissions with requests for the last jobs too. They may request the added jobs.
_LOCK_ASKING = f"""
SELECT number FROM submission WHERE number IN (
    SELECT submission FROM ({_ASKING}) asking
    UNION ALL
    SELECT asked.submission FROM expansion CROSS JOIN jsonb_array_elements(body) AS part
        JOIN job last ON last.app = part -> 'then' ->> 0 AND last.key = part -> 'then' ->> 1
        JOIN submission_job asked ON asked.job = last.id
    WHERE expansion.job = %(job)s)
ORDER BY number FOR SHARE
"""
_REQUESTS = f"""
SELECT submission.number, min(submission_job.request_reason)
FROM ({_ASKING}) AS submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission.number = ANY(%(numbers)s) AND {STILL_WANTS} GROUP BY 1 ORDER BY 1
"""
# Submissions that have ended, and whose jobs wait for the job again. They were pushed, or revived with a parent.
_REQUESTED_BEFORE = f"""
SELECT DISTINCT submission.number, {RequestReason.PUSHED:d}
FROM need JOIN job child ON child.id = need.child AND child.state = '{State.WAITING}'
    JOIN submission_job asked ON asked.job = child.id JOIN submission ON submission.number = asked.submission
WHERE need.parent = %(job)s AND submission.state <> '{SubmissionState.CANCELLED}' ORDER BY 1
"""
_HOLD_OPEN = "SELECT id FROM job WHERE id = ANY(%(jobs)s) AND expansion = 'open' ORDER BY id FOR UPDATE"
_OTHER_REQUESTERS = f"""
SELECT 1 FROM ({_ASKING}) AS submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission.number <> ALL(%(numbers)s::bigint[]) AND {STILL_WANTS} LIMIT 1
"""
# States of jobs that a walk to their child requests. A cancelled job runs again then.
_REQUESTABLE = sql_list(*sorted({*LIVE, State.CANCELLED}))
# A pushed job does not count, because a push requests no parents.
_LACKING_REQUESTS = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.WAITING}' AND EXISTS (
    SELECT FROM need JOIN job parent ON parent.id = need.parent AND parent.state IN ({_REQUESTABLE})
        JOIN submission_job asked ON asked.job = need.child AND asked.request_reason <> {RequestReason.PUSHED:d}
        JOIN submission ON submission.number = asked.submission AND submission.state = '{SubmissionState.ACTIVE}'
    WHERE need.child = job.id AND need.added AND NOT EXISTS (
        SELECT FROM submission_job own WHERE own.submission = asked.submission AND own.job = need.parent))
ORDER BY id
"""
# A need stays if another job has added both the parent and the child: then it has added this need too.
_OBSOLETE = """
need.child = ANY(%(jobs)s) AND need.added AND need.parent = ANY(%(parents)s) AND NOT EXISTS (
    SELECT FROM need other JOIN need own ON own.parent = other.parent AND own.added
    WHERE other.child = need.child AND other.added AND own.child = need.parent AND other.parent <> ALL(%(parents)s))
"""
_KEEP_DEFINED = f"""
UPDATE need SET added = false
FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(parent)s::bigint[]) AS defined (child, gate, parent)
WHERE need.child = defined.child AND need.gate = defined.gate AND need.parent = defined.parent AND {_OBSOLETE}
"""
_DETACH = f"DELETE FROM need WHERE {_OBSOLETE}"
_CLOSE = """
WITH closed AS (UPDATE expansion SET body = NULL WHERE job = ANY(%(jobs)s))
UPDATE job SET expansion = 'entered' WHERE id = ANY(%(jobs)s)
"""
# A request stays if a waiting job that the submission requests needs the job, or if it has another reason than that for
# the jobs that had added it: then the submission names the job.
_WITHDRAW = f"""
WITH RECURSIVE needed (submission, job) AS (
    SELECT asked.submission, need.parent
    FROM need JOIN job child ON child.id = need.child AND child.state = '{State.WAITING}'
        JOIN submission_job asked ON asked.job = child.id AND asked.request_reason <> {RequestReason.PUSHED:d}
    WHERE need.parent = ANY(%(jobs)s) AND need.child <> ALL(%(jobs)s)
    UNION
    SELECT needed.submission, need.parent
    FROM needed JOIN job child ON child.id = needed.job AND child.state = '{State.WAITING}'
        JOIN need ON need.child = child.id
    WHERE need.parent = ANY(%(jobs)s)
)
DELETE FROM submission_job USING submission_job expanding
WHERE submission_job.job = ANY(%(jobs)s) AND expanding.job = ANY(%(parents)s)
  AND expanding.submission = submission_job.submission
  AND expanding.request_reason <= submission_job.request_reason
  AND (submission_job.submission, submission_job.job) NOT IN (SELECT submission, job FROM needed)
"""


class AddedJob(NamedTuple):
    """Job of an earlier expansion. Another job has added a ``shared`` one too."""

    id: int
    name: JobName
    is_live: bool
    is_shared: bool


class OpenExpansion(NamedTuple):
    """Locked job whose expansions are not planned yet, with the jobs that it has added before."""

    id: int
    name: JobName
    expansions: list[Expansion]
    before: list[AddedJob]


class ExpansionRequester(NamedTuple):
    """Submission that gets the added jobs of a job, for the reason that it has for that job."""

    number: int
    reason: RequestReason


def store(tx: Tx, expansions: Mapping[Claim, str]) -> None:
    """Store the expansions of successes that this transaction is about to record. Call ``open_recorded`` after that."""
    if expansions:
        rows = sorted((*right, body) for right, body in expansions.items())
        tx.write(_STORE, **arrays(rows, "jobs", "claims", "bodies"))


def open_recorded(tx: Tx, recorded: Iterable[Claim]) -> None:
    """Mark the jobs with stored expansions whose successes were recorded."""
    if rows := [*recorded]:
        tx.write(_OPEN, **arrays(rows, "jobs", "claims"))


def reopen(tx: Tx, succeeded: list[int]) -> None:
    """Have the expansions of these jobs planned. A success without an expansion replaces the earlier one by nothing."""
    tx.write(_REPLACE, jobs=succeeded)
    tx.write(_REOPEN, jobs=succeeded)


def lock_open(tx: Tx, job: int) -> OpenExpansion | None:
    """Lock this job if its expansions are to be planned, and return it."""
    for id, app, key, body in tx.rows(_LOCK_OPEN, job=job):
        # Another success may have stored another expansion while this transaction waited.
        tx.rows(_LOCK_FOLLOWERS, job=job)
        before = [
            AddedJob(child, JobName(of, at), State(state) in LIVE, is_shared)
            for child, of, at, state, is_shared in tx.rows(_ADDED_BEFORE, job=job)
        ]
        return OpenExpansion(id, JobName(app, key), decoded(body), before)
    return None


def lock_followers(tx: Tx, job: int) -> None:
    """Lock the last jobs of the stored expansions of this job. Their planners take turns. Call it first, because a
    planner that waits for another one should hold no rows."""
    tx.rows(_LOCK_FOLLOWERS, job=job)


def lock_requesters(tx: Tx, job: int) -> list[ExpansionRequester]:
    """Return the submissions that get the added jobs of this job. They cannot be cancelled before this transaction
    ends. Call it before ``lock_open``, because submissions are locked before jobs.

    If no submission requests them now, these are the ended submissions with jobs that wait for this job. Otherwise the
    waiting jobs could not run.
    """
    numbers = tx.column(_LOCK_ASKING, job=job)
    rows = tx.rows(_REQUESTS, job=job, numbers=numbers) if numbers else []
    if numbers and not rows:
        rows = [row for row in tx.rows(_REQUESTED_BEFORE, job=job) if row[0] in numbers]
    return [ExpansionRequester(number, RequestReason(reason)) for number, reason in rows]


def has_other_requesters(tx: Tx, job: int, known: list[ExpansionRequester]) -> bool:
    """Return whether other submissions get the added jobs of this locked job too: they were planned between
    ``lock_requesters`` and ``lock_open``."""
    if tx.rows(_OTHER_REQUESTERS, job=job, numbers=[each.number for each in known]):
        return True
    return not known and bool(tx.rows(_REQUESTED_BEFORE, job=job))


def lock_requested(tx: Tx, jobs: list[int]) -> list[int]:
    """Return the jobs with an open expansion among these that submissions request. A plan that requests them later puts
    them into the outbox after this transaction."""
    return [job for job in tx.column(_HOLD_OPEN, jobs=jobs) if has_other_requesters(tx, job, [])]


def lacking_requests(tx: Tx, jobs: list[int]) -> list[int]:
    """Return the waiting jobs among these that a submission requests without requesting the added jobs that they need.
    Its cancellation does not concern these jobs, and that of another submission would cancel them."""
    return tx.column(_LACKING_REQUESTS, jobs=jobs) if jobs else []


def detach(tx: Tx, jobs: list[int], *, parents: list[int], defined: list[tuple[int, int, int]]) -> None:
    """Remove the added needs of these jobs for these parents, unless another job has added them too. ``defined`` needs
    (child, gate and parent) are not removed: they are not marked as added any more."""
    dependencies.lock_needs(tx, jobs)
    if defined:
        columns = arrays(defined, "child", "gate", "parent")
        tx.write(_KEEP_DEFINED, jobs=jobs, parents=parents, **columns)
    tx.write(_DETACH, jobs=jobs, parents=parents)
    dependencies.count(tx, jobs)


def close(tx: Tx, jobs: list[int]) -> None:
    """Note that the expansions of these locked jobs are planned."""
    tx.write(_CLOSE, jobs=jobs)


def withdraw(tx: Tx, jobs: list[int], *, parents: list[int]) -> None:
    """Remove the requests for added jobs by the submissions that request the jobs that had added them. Requests that
    such a submission has for another reason stay. Call it once the last jobs have lost their needs."""
    tx.write(_WITHDRAW, jobs=jobs, parents=parents)
