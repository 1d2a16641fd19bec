"""Search for jobs: the newest of an app and some states, jobs with keys that have a prefix, or jobs that a submission
wants.

A page costs no more than its own rows, or at most ``SCANNED_MAX`` rows, however many jobs exist. If few of many jobs
match, a page may be short or empty although more follow: then ``next`` is set.

A caller that reads all pages sees each job that existed at the beginning once. A job that changes its state in between
may be seen in its old or its new state. It may be missed if it entered a requested state in a part that was already
read.
"""

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.states import State
from sluice.jobs.text.paging import ID_MAX, BadToken, decode, encode
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads.job_lists import LISTED, ListedJob
from sluice.ledger.stats.state_counts import SIDES

#: Maximum number of jobs that are read for one page.
SCANNED_MAX = 5000
PAGE_MAX = 500

_FITS = """
(%(app)s::text IS NULL OR job.app = %(app)s) AND (%(states)s::text[] IS NULL OR job.state = ANY(%(states)s))
AND (%(key)s::text IS NULL OR starts_with(job.key, %(key)s))
"""
# The newest of each app and state, by the index on these; then the newest of all.
_NEWEST = f"""
SELECT job.* FROM (
    SELECT DISTINCT app, state FROM ({SIDES}) side
    WHERE (%(app)s::text IS NULL OR app = %(app)s) AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s))) kind
CROSS JOIN LATERAL (
    SELECT * FROM job WHERE job.app = kind.app AND job.state = kind.state AND job.id + 0 < %(id)s::bigint
    ORDER BY job.id + 0 DESC LIMIT %(scanned)s) job
ORDER BY job.id DESC LIMIT %(scanned)s
"""
_BEGINNING = """
SELECT job.* FROM job
WHERE job.key COLLATE "C" LIKE %(pattern)s AND (job.key COLLATE "C", job.id) > (%(from)s::text, %(id)s::bigint)
ORDER BY job.key COLLATE "C", job.id LIMIT %(scanned)s
"""
_WANTED = """
SELECT job.* FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = (SELECT number FROM submission WHERE submission.id = %(submission)s)
  AND submission_job.job < %(id)s::bigint
ORDER BY submission_job.job DESC LIMIT %(scanned)s
"""


class JobSearch(Struct, frozen=True, kw_only=True):
    """Selection of jobs. None or empty does not restrict. ``key`` is a prefix of the keys."""

    app: str | None = None
    states: tuple[State, ...] = ()
    key: str | None = None
    submission: str | None = None
    limit: int = 50


class FoundJobs(Struct, frozen=True, kw_only=True):
    """Page of jobs. ``next`` is the token of the next page; None if this was the last."""

    jobs: list[ListedJob]
    next: str | None


class _Found(ListedJob, frozen=True, kw_only=True):
    fits: bool
    nth: int
    scanned: int


class _Token(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Job after which the next page begins: by key and id, or by id alone."""

    key: str | None
    id: int


def page(tx: Tx, wanted: JobSearch, token: str | None = None) -> FoundJobs:
    """Return the page that a token leads to, or the first page. BadRequest for a token of another list, or an invalid
    page size."""
    if not 0 < wanted.limit <= PAGE_MAX:
        raise BadRequest(
            f"A page has 1 to {PAGE_MAX} jobs, and not {wanted.limit}.", advice="Read several pages."
        )
    by_key = wanted.submission is None and bool(wanted.key)
    after = _read(token, by_key=by_key) if token else _Token("" if by_key else None, 0 if by_key else ID_MAX)
    scan, scanned = _scan(wanted)
    found = tx.structs(_Found, _page(scan, by_key=by_key), **_given(wanted, after), scanned=scanned)
    fitting = [each for each in found if each.fits][: wanted.limit]
    last = fitting[-1] if len(fitting) == wanted.limit else found[-1] if found else None
    is_all = last is None or (last.nth == last.scanned < scanned)
    return FoundJobs(
        jobs=[*fitting],
        next=None if last is None or is_all else encode(_Token(last.key if by_key else None, last.id)),
    )


def _scan(wanted: JobSearch) -> tuple[str, int]:
    """Return the query and the number of jobs to read. If all jobs match, one more than the page holds shows that more
    exist."""
    if wanted.submission is not None:
        return _WANTED, SCANNED_MAX
    if wanted.key:
        return _BEGINNING, SCANNED_MAX
    return _NEWEST, wanted.limit + 1


def _page(scan: str, *, by_key: bool) -> str:
    order = 'job.key COLLATE "C", job.id' if by_key else "job.id DESC"
    return f"""
    WITH job AS MATERIALIZED ({scan}), seen AS (
        SELECT {LISTED}, {_FITS} AS fits, row_number() OVER (ORDER BY {order}) AS nth, count(*) OVER () AS scanned
        FROM job
    ), placed AS (SELECT *, count(*) FILTER (WHERE fits) OVER (ORDER BY nth) AS fitting FROM seen)
    SELECT * FROM placed WHERE fits AND fitting <= %(limit)s OR nth = scanned ORDER BY nth
    """


def _given(wanted: JobSearch, after: _Token) -> dict[str, object]:
    return {
        "app": wanted.app,
        "states": [str(state) for state in wanted.states] or None,
        "key": wanted.key or None,
        "pattern": _literally(wanted.key or "") + "%",
        "submission": wanted.submission,
        "from": after.key,
        "id": after.id,
        "limit": wanted.limit,
    }


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _read(text: str, *, by_key: bool) -> _Token:
    try:
        token = decode(text, _Token)
    except BadToken:
        token = None
    if (
        token is None
        or (token.key is not None) != by_key
        or not 0 <= token.id <= ID_MAX
        or "\x00" in (token.key or "")
    ):
        raise BadRequest(
            "The page token leads to no page of this list.", advice="Begin with the first page again."
        )
    return token
