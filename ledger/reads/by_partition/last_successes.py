"""Last successes of an app, by work ID or by key.

An app may have millions of either, so reads without names are bounded.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.keys.work_ids import WorkId, parts_of
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx

#: Maximum number of sets of kwargs that are distinguished.
MARKS_MAX = 100
#: Maximum number of successes, or jobs, that are searched for old ones.
LOOKED_THROUGH_MAX = 1_000_000

# Steps from freshness_scope to freshness_scope along the primary key, however many work IDs are between them.
_MARKS = """
WITH RECURSIVE freshness_scopes (freshness_scope) AS (
    (SELECT freshness_scope FROM freshness WHERE app = %(app)s ORDER BY freshness_scope LIMIT 1)
    UNION ALL
    SELECT (SELECT freshness_scope FROM freshness WHERE app = %(app)s
        AND freshness_scope > freshness_scopes.freshness_scope ORDER BY freshness_scope LIMIT 1)
    FROM freshness_scopes WHERE freshness_scopes.freshness_scope IS NOT NULL
)
SELECT freshness_scope FROM freshness_scopes WHERE freshness_scope IS NOT NULL LIMIT %(limit)s
"""
_NAMED_IDS = """
WITH asked AS (
    SELECT generate_series(first, last)::text AS work_id
    FROM unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) AS run (first, last)
    UNION ALL SELECT unnest(%(texts)s::text[])
)
SELECT freshness_scope, work_id AS name, at FROM freshness JOIN asked USING (work_id)
WHERE app = %(app)s AND freshness_scope = ANY(%(freshness_scopes)s) ORDER BY freshness_scope, work_id LIMIT %(limit)s
"""
_OLD_ENOUGH = "(%(before)s::timestamptz IS NULL OR at < %(before)s)"
_IDS = f"""
SELECT each.freshness_scope, found.work_id AS name, found.at
    FROM unnest(%(freshness_scopes)s::text[]) AS each (freshness_scope)
CROSS JOIN LATERAL (
    SELECT work_id, at FROM freshness WHERE app = %(app)s AND freshness.freshness_scope = each.freshness_scope
    ORDER BY work_id LIMIT %(looked)s) found
WHERE {_OLD_ENOUGH} ORDER BY each.freshness_scope, found.work_id LIMIT %(limit)s
"""
_ARE_MORE_IDS = """
SELECT 1 FROM unnest(%(freshness_scopes)s::text[]) AS each (freshness_scope) CROSS JOIN LATERAL (
    SELECT FROM freshness WHERE app = %(app)s AND freshness.freshness_scope = each.freshness_scope OFFSET %(looked)s
        LIMIT 1) more LIMIT 1
"""
# If a job runs again, or has ended otherwise since, its last success is in its history.
_LAST_SUCCESS = f"""
CASE WHEN state = '{State.SUCCEEDED}' THEN changed_at ELSE (
    SELECT transition.at FROM transition WHERE transition.job = job.id AND target = '{State.SUCCEEDED}'
    ORDER BY transition.id DESC LIMIT 1) END
"""
_NAMED_KEYS = f"""
SELECT key AS name, at FROM (
    SELECT key, {_LAST_SUCCESS} AS at FROM job WHERE app = %(app)s AND key = ANY(%(keys)s)) found
WHERE at IS NOT NULL ORDER BY key
"""
# In the order of bytes, as the index ``job_name`` has the keys.
_KEYS = f"""
SELECT key AS name, at FROM (
    SELECT key, {_LAST_SUCCESS} AS at FROM job WHERE app = %(app)s ORDER BY key USING ~<~ LIMIT %(looked)s) found
WHERE at IS NOT NULL AND {_OLD_ENOUGH} ORDER BY key USING ~<~ LIMIT %(limit)s
"""
_ARE_MORE_KEYS = "SELECT 1 FROM job WHERE app = %(app)s OFFSET %(looked)s LIMIT 1"


class LastSuccess(Struct, frozen=True):
    """Last success. ``name`` is a work ID, as text, or a key. ``freshness_scope`` contains the kwargs that the
    freshness of the
    work ID depends on; empty if there are none."""

    name: str
    at: datetime
    freshness_scope: str = ""


class FoundSuccesses(NamedTuple):
    """Successes that were found. ``more``: others exist, or may exist."""

    successes: list[LastSuccess]
    more: bool


def freshness_scopes(tx: Tx, app: str) -> list[str]:
    """Return the freshness_scopes under which an app's freshness is stored."""
    return tx.column(_MARKS, app=app, limit=MARKS_MAX)


def named_ids(
    tx: Tx, app: str, freshness_scopes: Sequence[str], ids: Sequence[WorkId], *, limit: int
) -> FoundSuccesses:
    """Return the successes on these sorted work IDs, by freshness_scope and work ID."""
    parts = parts_of(ids)
    runs = [part for part in parts if not isinstance(part, str)]
    rows = tx.structs(
        LastSuccess,
        _NAMED_IDS,
        app=app,
        freshness_scopes=[*freshness_scopes],
        firsts=[run[0] for run in runs],
        lasts=[run[-1] for run in runs],
        texts=[part for part in parts if isinstance(part, str)],
        limit=limit + 1,
    )
    return FoundSuccesses(rows[:limit], len(rows) > limit)


def ids(
    tx: Tx, app: str, freshness_scopes: Sequence[str], *, before: datetime | None, limit: int
) -> FoundSuccesses:
    """Return the first successes by freshness_scope and work ID as text. With ``before``, only last successes before
    this time
    count."""
    asked = {"app": app, "freshness_scopes": [*freshness_scopes]}
    looked = LOOKED_THROUGH_MAX // max(len(freshness_scopes), 1) if before else limit + 1
    rows = tx.structs(LastSuccess, _IDS, **asked, before=before, looked=looked, limit=limit + 1)
    more = len(rows) > limit or bool(before and tx.rows(_ARE_MORE_IDS, **asked, looked=looked))
    return FoundSuccesses(rows[:limit], more)


def named_keys(tx: Tx, app: str, keys: Sequence[str]) -> FoundSuccesses:
    """Return the last successes of these canonical keys, by key."""
    return FoundSuccesses(tx.structs(LastSuccess, _NAMED_KEYS, app=app, keys=[*keys]), more=False)


def keys(tx: Tx, app: str, *, before: datetime | None, limit: int) -> FoundSuccesses:
    """Return the first successes by key. With ``before``, only last successes before this time count."""
    looked = LOOKED_THROUGH_MAX
    rows = tx.structs(LastSuccess, _KEYS, app=app, before=before, looked=looked, limit=limit + 1)
    more = len(rows) > limit or bool(tx.rows(_ARE_MORE_KEYS, app=app, looked=looked))
    return FoundSuccesses(rows[:limit], more)
