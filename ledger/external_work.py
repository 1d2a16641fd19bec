"""External work: stored handles, due polls, and the results of polls.

A handle is the value by which job managers find the work that they started (see ``jobs.model.external_work``). Polls
are for external work that no worker holds. There are two kinds. If a job runs without a worker, its work goes on until
it is stopped (``job.unbounded``). If a job is over and has a handle, its work must still be ended. Both have a
``next_poll_at``, and no other job has one.

Invariants of handles: a handle is stored only under the current claim. It survives lost leases and hand-backs, so the
next claim of the round reads it. It is removed when the job starts again from nothing: with a recorded outcome, with a
timeout that leaves another try, with a rerun. A job that is over (cancelled, expired, or its worker died) keeps its
handle until its work is ended. The worker that has just learned of the end, or a worker that is sent to end the work,
finds it by the handle.

Invariants of polls: ``next_poll_at`` is in the future, or the next tick sends a notification for a poll and moves it
on. Without a result it moves farther each time. One process takes a poll: ``dispatch_attempts`` counts the
notifications since the last poll. Taking the poll sets it to zero, so a duplicate notification finds nothing to take.
None of this changes a state. The end of a round is recorded like any outcome, under its claim. Other results are
written only while the work is the same as when the poll was taken. That means the same claim, and a job that still
runs, or is still over.

Races:

- A poll against a cancellation. Either the cancellation finds the round ended, or the result of the poll is refused and
  the next poll ends the work.
- A plan against ``detach``, as against a claim (``ledger.job_graph.dependencies``). First the work is marked as
  started. A later statement searches for children that wait for the job to run.

If the process that took a poll dies, the poll is due again after ``TERM_S``.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from sluice.jobs.model.external_work import WorkOwner
from sluice.jobs.model.job import KEPT_BYTES
from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import LIVE, TERMINAL, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW
from sluice.ledger.recovery.groomer_steps import PATIENCE_DOUBLINGS_MAX, PATIENCE_S

#: Seconds after which a poll that was taken and has no result is due again.
TERM_S = 30.0
#: Most seconds between two polls after failures. The delay doubles with each failed poll.
PAUSE_S_MAX = 3600.0
_DOUBLINGS_MAX = 20
#: Default seconds between polls of work that must be ended, if the job has no interval of its own
#: (``poll_interval_s``).
_WATCH_S = 1.0

_LIVE = sql_list(*sorted(LIVE))
_ALONE = f"job.state = '{State.RUNNING}' AND job.worker IS NULL"
_LEFT_OVER = f"job.state NOT IN ({_LIVE})"

# Idempotent, because a commit of unknown outcome is run again.
_LEAVE = f"""
WITH written AS (
    UPDATE round SET output = nullif(%(external_status)s, '') WHERE job = %(job)s AND claim = %(claim)s
        AND ending IS NULL
)
UPDATE job SET handle = %(handle)s::jsonb, worker = NULL, attempt_timeout_at = NULL,
    poll_interval_s = %(poll_interval_s)s,
    next_poll_at = {NOW} + make_interval(secs => %(poll_interval_s)s), failed_polls = 0, dispatch_attempts = 0,
        external_status = NULL
WHERE id = %(job)s AND state = '{State.RUNNING}' AND claim = %(claim)s
"""
_AWAITED = """
SELECT DISTINCT parent FROM need WHERE parent = %(job)s AND condition = 'running' AND met IS NULL
"""
_SEND = f"""
UPDATE job SET dispatch_attempts = least(dispatch_attempts + 1, 100),
    next_poll_at = {NOW} + make_interval(secs => greatest(
    poll_interval_s, {PATIENCE_S} * power(2, least(dispatch_attempts, {PATIENCE_DOUBLINGS_MAX}))))
WHERE id = ANY(ARRAY(SELECT id FROM job WHERE next_poll_at <= (SELECT {NOW}) ORDER BY next_poll_at
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
RETURNING id, app
"""
_TAKE = f"""
WITH held AS MATERIALIZED (
    SELECT id FROM job WHERE id = ANY(%(jobs)s) AND app = %(app)s AND next_poll_at IS NOT NULL AND dispatch_attempts > 0
    ORDER BY id FOR UPDATE
)
UPDATE job SET dispatch_attempts = 0, next_poll_at = {NOW} + make_interval(secs => {TERM_S})
FROM held WHERE job.id = held.id
RETURNING job.id, app, key, claim, state, handle, failed_polls
"""
_SEEN = (
    "unnest(%(jobs)s::bigint[], %(claims)s::bigint[], %(poll_interval_s)s::float8[], %(external_status)s::text[],"
    " %(lines)s::text[], %(over)s::bool[]) AS seen (id, claim, poll_interval_s, external_status, line, over)"
)
_HELD = f"""
SELECT job.id FROM job JOIN {_SEEN} USING (id, claim) WHERE job.next_poll_at IS NOT NULL
    ORDER BY job.id FOR UPDATE OF job
"""
_GOES_ON = f"""
UPDATE job SET failed_polls = 0, poll_interval_s = seen.poll_interval_s,
    external_status = CASE WHEN job.failed_polls > 0 THEN seen.external_status
        ELSE coalesce(seen.external_status, job.external_status) END,
    next_poll_at = {NOW} + make_interval(secs => seen.poll_interval_s)
FROM {_SEEN} WHERE job.id = seen.id AND job.claim = seen.claim AND {_ALONE}
"""
_MISSED = f"""
UPDATE job SET failed_polls = least(job.failed_polls + 1, 1000), external_status = seen.external_status,
    next_poll_at = {NOW} + make_interval(secs => least({PAUSE_S_MAX},
        coalesce(job.poll_interval_s, {_WATCH_S}) * power(2, least(job.failed_polls + 1, {_DOUBLINGS_MAX}))))
FROM {_SEEN} WHERE job.id = seen.id AND job.claim = seen.claim AND job.next_poll_at IS NOT NULL
    AND CASE WHEN seen.over THEN {_LEFT_OVER} ELSE {_ALONE} END
"""
# An unchanged status is not written again. Otherwise the output of a job that is polled each second would only contain
# its last line.
_WRITE_DOWN = f"""
UPDATE round SET output = right(concat(round.output, seen.line), {KEPT_BYTES})
FROM {_SEEN} JOIN job ON job.id = seen.id
WHERE round.job = seen.id AND round.claim = seen.claim AND job.next_poll_at IS NOT NULL
    AND job.external_status IS DISTINCT FROM seen.external_status
"""


class PolledWork(Struct, frozen=True):
    """External work to poll, or to end if its job is over. ``failed_polls`` counts consecutive failures."""

    id: int
    app: str
    key: str
    claim: int
    state: State
    handle: JSON
    failed_polls: int

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def right(self) -> Claim:
        return Claim(self.id, self.claim)

    @property
    def is_over(self) -> bool:
        return self.state in TERMINAL


class PollOutcome(Struct, frozen=True, kw_only=True):
    """Result of a poll that ended nothing.

    ``missed``: the poll failed, and ``external_status`` is the reason. ``line`` is added to the output of the round
    unless the status is the same as last time. ``is_over`` is the job's state when the poll was taken.
    """

    right: Claim
    is_over: bool
    poll_interval_s: float = _WATCH_S
    missed: bool = False
    external_status: str | None = None
    line: str = ""


def detach(tx: Tx, right: Claim, handle: JSON, *, poll_interval_s: float, external_status: str = "") -> bool:
    """Store the handle of the work that the claim has started, and leave it to polls. Return False if the claim is
    lost."""
    written = msgspec.json.encode(handle).decode()
    named = {"job": right.job, "claim": right.number}
    return bool(
        tx.write(
            _LEAVE, **named, handle=written, poll_interval_s=poll_interval_s, external_status=external_status
        )
    )


def awaited_parent(tx: Tx, right: Claim) -> list[int]:
    """Return the job, if a child waits for it to run."""
    return tx.column(_AWAITED, job=right.job)


def take_due(tx: Tx, limit: int) -> dict[str, list[int]]:
    """Return the jobs that must be polled now, by app. They count as announced."""
    jobs: dict[str, list[int]] = {}
    for id, app in tx.rows(_SEND, limit=limit):
        jobs.setdefault(app, []).append(id)
    return jobs


def take_announced(tx: Tx, app: str, jobs: list[int]) -> list[PolledWork]:
    """Take the jobs that have not been polled since they were announced. The caller must poll them."""
    return tx.structs(PolledWork, _TAKE, app=app, jobs=jobs)


def record_polls(tx: Tx, seen: Iterable[PollOutcome]) -> None:
    """Record polls that ended nothing. Work that has changed since is left as it is."""
    seen = list(seen)
    if not seen:
        return
    tx.rows(_HELD, **_columns(seen))
    tx.write(_WRITE_DOWN, **_columns([each for each in seen if each.external_status]))
    tx.write(_GOES_ON, **_columns([each for each in seen if not each.missed]))
    tx.write(_MISSED, **_columns([each for each in seen if each.missed]))


def _columns(seen: list[PollOutcome]) -> dict[str, list[object]]:
    rows = [
        (*each.right, each.poll_interval_s, each.external_status, each.line, each.is_over) for each in seen
    ]
    return arrays(rows, "jobs", "claims", "poll_interval_s", "external_status", "lines", "over")


_KEEP = f"""
UPDATE job SET handle = %(handle)s::jsonb
WHERE id = %(job)s AND state = '{State.RUNNING}' AND claim = %(claim)s
"""
# A job that runs without a handle under another claim is starting its work now, or is finding this same work by its
# token. A job that only waits without a handle will start again from nothing.
_KEEPER = f"""
SELECT CASE
    WHEN state = '{State.RUNNING}' AND claim = %(claim)s THEN '{WorkOwner.OURS}'
    WHEN state IN ({_LIVE}) AND handle = %(handle)s::jsonb THEN '{WorkOwner.ANOTHER}'
    WHEN state = '{State.RUNNING}' AND handle IS NULL THEN '{WorkOwner.ANOTHER}'
    ELSE '{WorkOwner.NONE}' END
FROM job WHERE id = %(job)s
"""
_FORGET = f"""
UPDATE job SET handle = NULL, next_poll_at = NULL, failed_polls = 0, external_status = NULL
WHERE id = %(job)s AND state NOT IN ({_LIVE}) AND claim = %(claim)s AND handle = %(handle)s::jsonb
"""
_BEQUEATH = f"""
UPDATE job SET handle = %(handle)s::jsonb, next_poll_at = {NOW}
WHERE id = %(job)s AND state NOT IN ({_LIVE}) AND claim = %(claim)s AND handle IS NULL
"""


def store_handle(tx: Tx, right: Claim, handle: JSON) -> bool:
    """Store the handle of work that the claim has started. If the claim is lost, store nothing and return False."""
    return bool(tx.write(_KEEP, **_named(right, handle)))


def owner_of(tx: Tx, right: Claim, handle: JSON) -> WorkOwner:
    """Return whether this claim, another claim or none is responsible for the work that this claim has started."""
    found = tx.column(_KEEPER, **_named(right, handle))
    return WorkOwner(found[0]) if found else WorkOwner.NONE


def remove_handle(tx: Tx, right: Claim, handle: JSON) -> None:
    """Remove the handle of an ended job, because its work was ended. A rerun job has lost it already."""
    tx.write(_FORGET, **_named(right, handle))


def store_orphaned_handle(tx: Tx, right: Claim, handle: JSON) -> None:
    """Store the handle of work that the last claim of an ended job could not end, so that other workers can end it."""
    tx.write(_BEQUEATH, **_named(right, handle))


def _named(right: Claim, handle: JSON) -> dict[str, object]:
    return {"job": right.job, "claim": right.number, "handle": msgspec.json.encode(handle).decode()}
