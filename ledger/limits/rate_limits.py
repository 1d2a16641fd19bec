"""Rate limits: how many rounds of an app, or of one value of a key, start in a period of time.

Each bucket of tokens has a name, the ``rate_bucket`` of its jobs. A claim takes a token: it inserts one small row
(``rate_start``). A ready job has a token reserved. So jobs are admitted (``ledger.limits.pools``) only while tokens are
left that neither a start has taken nor a ready job has reserved. All other jobs of the bucket wait for admission, with
``waiting_for_slot``, like jobs of a full pool: the most urgent one is next, and no worker or message is involved.

Invariants:

- A bucket never has fewer tokens than ready jobs. So a claim always finds its token, and in any ``t`` seconds at most
  ``burst + t / apart_s`` rounds start, whenever the workers claim the ready jobs.
- Only admission makes a job with a bucket ready. A job that is handed back waits for admission again, and its next
  claim is another start. Nothing returns a token.
- A flight of a saga takes one token, with its first claim. Later claims of the flight need none (``BUCKET``).

The terms of a limit are in ``rate_limit``, one row for each app, and apply to all waiting jobs. The plan that first has
jobs of the app inserts the row (``job_graph.insertion``), and the groomer keeps it as in the definition. If the
definition has no limit any more, the row is removed, and waiting jobs need no token. A bucket without rows of
``rate_start`` is full.

Races:

- Two admissions to one bucket take its advisory lock in turn (``pools``). Each counts in a statement after it has the
  lock.
- An admission against a claim: one statement reads the ready jobs and the starts. It sees the job either as ready or
  as started, because the claim commits both together.
- Two claims each insert rows of their own and wait for nothing, so the lock order does not change. The rows of one
  bucket may be committed in another order than that of their times. They count in the order of their ids, by which no
  start counts for less.
- An admission adds up many rows of a bucket to one (``fold``) under the bucket's lock. A row that is committed
  meanwhile stays as it is.
- A changed limit against an admission: the admission uses the terms that it reads. Jobs that are ready keep their
  tokens.

Pausing, cancelling and expiry of a ready job give back its reservation, because only ready jobs are counted. Each of
these notes the pool, so the transaction admits another job. When a token is refilled, no transaction notices: the
groomer searches for it on each tick, and the leader's ticker more often (``next_s``). A crash leaves nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW

#: Number of starts of a bucket above which they are added up to one row.
ROWS_MAX = 16
#: Maximum number of buckets with waiting jobs that ``next_s`` examines. The groomer's tick examines the others.
BUCKETS_MAX = 1000
#: Part of a token that counts as none, because tokens are computed in floating point.
_ALMOST = 1e-6


def app_of(bucket: str) -> str:
    """Return the SQL of the app that a bucket belongs to: its name has no colon (``jobs.model.pool``)."""
    return f"split_part({bucket}, ':', 1)"


def _full_at(bucket: str, apart_s: str) -> str:
    """Return the SQL of the time at which a bucket is full if no job starts, or null if it never was in use."""
    return f"""(SELECT max(at + make_interval(secs => {apart_s} * since)) FROM (
        SELECT at, sum(tokens) OVER (ORDER BY id DESC) AS since FROM rate_start
        WHERE rate_start.bucket = {bucket}) AS started)"""


def _reserved(bucket: str) -> str:
    return f"""(SELECT count(*) FROM job
        WHERE job.rate_bucket = {bucket} AND NOT job.saga_open AND job.state = '{State.READY}')"""


def tokens(bucket: str) -> str:
    """Return the SQL of the number of tokens that are left in a bucket, or null if its app has no limit."""
    missing = f"extract(epoch FROM {_full_at(bucket, 'rate_limit.apart_s')} - {NOW}) / rate_limit.apart_s"
    return f"""(SELECT floor(rate_limit.burst - greatest({missing}, 0) + {_ALMOST})::bigint - {_reserved(bucket)}
        FROM rate_limit WHERE rate_limit.app = {app_of(bucket)})"""


def next_at(bucket: str) -> str:
    """Return the SQL of the time from which a token is left, or null if ready jobs have reserved all of them."""
    return f"""(SELECT CASE WHEN reserved < burst THEN coalesce(
            {_full_at(bucket, "apart_s")} - make_interval(secs => apart_s * (burst - 1 - reserved)), {NOW}) END
        FROM (SELECT burst, apart_s, {_reserved(bucket)} AS reserved FROM rate_limit
              WHERE rate_limit.app = {app_of(bucket)} OFFSET 0) AS terms)"""


_TERMS = "SELECT app, apart_s, burst FROM rate_limit ORDER BY app"
_UPDATE = "UPDATE rate_limit SET apart_s = %(apart_s)s, burst = %(burst)s WHERE app = %(app)s"
_DROP = "DELETE FROM rate_limit WHERE app = %(app)s"
_TAKE = f"INSERT INTO rate_start (bucket, at, tokens) SELECT unnest(%(buckets)s::text[]), {NOW}, 1"
# A row of the same name is removed and inserted, so that the sum keeps the lowest id.
_FOLD = f"""
WITH gone AS (
    DELETE FROM rate_start WHERE bucket IN (
        SELECT bucket FROM rate_start WHERE bucket = ANY(%(buckets)s) GROUP BY bucket HAVING count(*) > {ROWS_MAX})
    RETURNING bucket, id, at, tokens
), summed AS (
    SELECT bucket, max(at) AS last_at, max(at + make_interval(secs => apart_s * since)) AS full_at, apart_s FROM (
        SELECT bucket, at, apart_s, sum(tokens) OVER (PARTITION BY bucket ORDER BY id DESC) AS since
        FROM gone JOIN rate_limit ON rate_limit.app = {app_of("bucket")}) AS each
    GROUP BY bucket, apart_s
)
INSERT INTO rate_start (bucket, id, at, tokens)
SELECT bucket, 0, last_at, extract(epoch FROM full_at - last_at) / apart_s FROM summed
"""
# The oldest rows, because the whole table may be large. A bucket is full if all its tokens were refilled since its last
# start.
_FORGET = f"""
WITH full_again AS MATERIALIZED (
    SELECT bucket, id FROM rate_start JOIN (
        SELECT DISTINCT bucket FROM (SELECT bucket FROM rate_start ORDER BY at LIMIT %(limit)s) AS oldest) AS named
        USING (bucket)
    WHERE (
        SELECT max(own.at) + make_interval(secs => sum(own.tokens) * coalesce(
            (SELECT apart_s FROM rate_limit WHERE rate_limit.app = {app_of("named.bucket")}), 0))
        FROM rate_start AS own WHERE own.bucket = named.bucket) <= {NOW}
    FOR UPDATE OF rate_start SKIP LOCKED
)
DELETE FROM rate_start USING full_again
WHERE rate_start.bucket = full_again.bucket AND rate_start.id = full_again.id
"""
_LIMITED = "rate_bucket IS NOT NULL AND NOT saga_open AND waiting_for_slot"
_NEXT = f"""
WITH RECURSIVE line (bucket) AS (
    (SELECT rate_bucket FROM job WHERE {_LIMITED} ORDER BY rate_bucket LIMIT 1)
    UNION ALL
    SELECT next.rate_bucket FROM line CROSS JOIN LATERAL (
        SELECT rate_bucket FROM job WHERE {_LIMITED} AND job.rate_bucket > line.bucket
        ORDER BY rate_bucket LIMIT 1) next
)
SELECT count(*), CASE WHEN min(at) IS NOT NULL THEN greatest(extract(epoch FROM min(at) - {NOW}), 0)::float8 END
FROM (SELECT {next_at("waiting.bucket")} AS at FROM (SELECT bucket FROM line LIMIT {BUCKETS_MAX}) AS waiting) AS found
"""


class RateTerms(NamedTuple):
    """Terms of an app's rate limit in the ledger."""

    apart_s: float
    burst: int

    @classmethod
    def of(cls, limit: RateLimit | None) -> "RateTerms | None":
        return cls(limit.apart_s, limit.burst) if limit else None


def terms(tx: Tx) -> dict[str, RateTerms]:
    """Return the limits that the ledger has, by app."""
    return {app: RateTerms(apart_s, burst) for app, apart_s, burst in tx.rows(_TERMS)}


def update(tx: Tx, app: str, limit: RateLimit | None) -> None:
    """Set the limit of this app as in its definition, or remove it if there is none any more."""
    if limit is None:
        tx.write(_DROP, app=app)
    else:
        tx.write(_UPDATE, app=app, apart_s=limit.apart_s, burst=limit.burst)


def take(tx: Tx, buckets: Sequence[str]) -> None:
    """Take a token from each of these buckets, for each time that it is named. Without any this is no statement."""
    if buckets:
        tx.write(_TAKE, buckets=[*buckets])


def fold(tx: Tx, buckets: Sequence[str]) -> None:
    """Add up the starts of these buckets if they are many. The transaction holds the locks of the buckets."""
    if buckets:
        tx.write(_FOLD, buckets=[*buckets])


def forget(tx: Tx, limit: int) -> None:
    """Remove starts of buckets that are full again, among the ``limit`` oldest."""
    tx.write(_FORGET, limit=limit)


def next_s(tx: Tx) -> tuple[bool, float | None]:
    """Return whether jobs wait for a bucket, and in how many seconds the first of these buckets has a token left. None
    if ready jobs have reserved all tokens."""
    waiting, seconds = tx.rows(_NEXT)[0]
    return waiting > 0, seconds
