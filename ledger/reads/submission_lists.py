"""Submissions page by page, the newest first; and single submissions with their requests.

The cost of a page is bounded, however many submissions exist. If no index fits the filter, at most
``LOOKED_THROUGH_MAX`` submissions are searched. The page may then be short or empty, and still name the next.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.submission import JSON, UNFORTUNATE, SubmissionState
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle.requests import BODY, KEYS, document

#: Maximum number of submissions that are searched for one page.
LOOKED_THROUGH_MAX = 20_000

# States in the index ``submission_unfortunate``.
_UNFORTUNATE = ", ".join(f"'{state}'" for state in UNFORTUNATE)
_COLUMNS = f"""
number, id, app, state, request->>'user' AS user, received_at, planned_at, ended_at, paused_at, reason,
request->>'key' AS key, {KEYS} AS keys,
request->>'start' AS start, request->>'end' AS end, request->>'mode' AS mode, request->>'branch' AS branch
"""
# The search stops as soon as the page is full, because the order is that of the primary key.
_PAGE = f"""
WITH found AS MATERIALIZED (
    SELECT number FROM (
        SELECT number, app, state FROM submission
        WHERE number < %(before)s AND {{which}} ORDER BY number DESC LIMIT %(look_max)s) looked_through
    WHERE (%(app)s::text IS NULL OR app = %(app)s) AND (%(apps)s::text[] IS NULL OR app = ANY(%(apps)s))
      AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s))
    ORDER BY number DESC LIMIT %(limit)s
)
SELECT {_COLUMNS}, CASE WHEN (SELECT count(*) FROM found) < %(limit)s THEN ({{lowest}}) END AS lowest
FROM submission WHERE number IN (SELECT number FROM found) ORDER BY number DESC
"""
# Null if there are fewer.
_LOWEST = """
SELECT number FROM submission
WHERE number < %(before)s AND {which} ORDER BY number DESC OFFSET %(look_max)s - 1 LIMIT 1
"""
_ONE = f"SELECT {_COLUMNS}, NULL AS lowest FROM submission WHERE id = %(id)s"
_REQUEST = f"SELECT {BODY} FROM submission WHERE id = %(id)s"
_MAX = 2**63 - 1


class Submitted(Struct, frozen=True, kw_only=True):
    """Submission in a list. ``key``, ``keys`` (their number), ``start`` and ``end`` are the request as the submitter
    wrote it. If none is set, all jobs of the definition were requested."""

    id: str
    app: str
    state: SubmissionState
    user: str | None
    received_at: datetime
    planned_at: datetime | None
    ended_at: datetime | None
    paused_at: datetime | None
    reason: str | None
    key: str | None
    keys: int
    start: str | None
    end: str | None
    mode: str | None
    branch: str | None


class Numbered(Submitted, frozen=True, kw_only=True):
    """Submission with its ``number`` in the ledger. ``lowest`` is set if its page is short because the search reached
    its limit: the number of the last submission that was searched."""

    number: int
    lowest: int | None


class SubmissionPage(Struct, frozen=True):
    """Page of submissions. ``next`` is the ``before`` of the next page; None if this was the last."""

    found: list[Numbered]
    next: int | None


def submitted(
    tx: Tx,
    *,
    app: str | None,
    states: Sequence[SubmissionState],
    apps: Sequence[str] | None = None,
    before: int | None,
    limit: int,
) -> SubmissionPage:
    """Return a page of submissions of this app, in these states, and only of these ``apps``. None does not restrict."""
    is_indexed = bool(states) and set(states) <= {*UNFORTUNATE}
    which = f"state IN ({_UNFORTUNATE})" if is_indexed else "true"
    lowest = _LOWEST.format(which=which)
    given = {
        "before": _MAX if before is None else before,
        "app": app,
        "apps": None if apps is None else [*apps],
        "states": [str(state) for state in states] or None,
        "look_max": LOOKED_THROUGH_MAX,
    }
    found = tx.structs(Numbered, _PAGE.format(which=which, lowest=lowest), **given, limit=limit)
    if len(found) == limit:
        return SubmissionPage(found, found[-1].number)
    searched_to = [found[0].lowest] if found else tx.column(lowest, **given)
    return SubmissionPage(found, searched_to[0] if searched_to else None)


def one(tx: Tx, id: str) -> Numbered | None:
    found = tx.structs(Numbered, _ONE, id=id)
    return found[0] if found else None


def request(tx: Tx, id: str) -> Mapping[str, JSON]:
    """Return the request as it was sent; empty if the submission does not exist, or if its request cannot be read."""
    found = tx.column(_REQUEST, id=id)
    return document(found[0]) if found else {}
