"""Lists of jobs by filter, page by page.

In the order of a time (``jobs``, ``page``), pages are full and have the total number. No index has these times, so all
jobs of the filter's apps and states are read. Along an index (``search``), the newest jobs come first, or jobs with a
prefix by their keys, or the newest jobs of a submission, or of those that a job has added, or of late jobs. Such a
page reads a limited number of jobs of each app, however many exist. It may be short or empty although more follow: then
``next`` is set.

Invariant of pages: a caller that reads all pages sees each job that existed at the beginning exactly once. That holds
however many jobs have the same time, and however many are added in between. In order of ``changed``, a job that changes
in between moves: in ascending order it is seen again, in descending order it may be missed. In a search, such a job may
be seen in its old or its new state. It may be missed if it entered a requested state in a part that was already read.

Race: a job gets its time when it is written, and becomes visible when that is committed, possibly after a job with a
later time. In ascending order, a reader that has passed the later job would never see it. So such a page ends before
the start of the oldest transaction that is still writing. Everything that this transaction has written or will write
has a later time, and is on the next page.
"""

from datetime import datetime

from msgspec import Struct, structs

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.partitions import ends_of
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.jobs.text.paging import (
    ID_MAX,
    PAGE_MAX,
    BadToken,
    Order,
    OrderBy,
    PagePosition,
    decode,
    encode,
    read_token,
    write_token,
)
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.state_ranges import newest
from sluice.ledger.managed_tasks import UNCOLLECTED
from sluice.ledger.reads.job_filters import Clause, JobFilter, clause
from sluice.ledger.stats.state_counts import SIDES

_LISTED = f"""
job.id, job.app, job.key, job.state, job.round, job.priority, job.created_at, job.changed_at, job.not_before,
job.paused AND job.state = '{State.WAITING}' AS paused, job.output_table, {UNCOLLECTED} AS uncollected, job.archived_at,
job.late
"""
_TIMES = {OrderBy.CREATED: "job.created_at", OrderBy.CHANGED: "job.changed_at"}
# A writing transaction has locked something before it takes the time of anything, so it has a transaction number by
# then. Postgres shows sessions of other roles only to roles that may read all statistics.
_SETTLED = """
SELECT least(statement_timestamp(), min(xact_start)) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND backend_xid IS NOT NULL
  AND pid <> pg_backend_pid()
"""

#: Maximum number of jobs that are read for one page of a search by submission, or by app and key.
SCANNED_MAX = 5000
#: Largest page of a search, in jobs.
SEARCH_PAGE_MAX = 500
# The last code point. Keys do not contain it, because it cannot be printed.
_LAST_CHARACTER = "\U0010ffff"

_NEWEST_OF_ALL = "SELECT job.* FROM job WHERE job.id < %(id)s::bigint ORDER BY job.id DESC LIMIT %(scanned)s"
# The newest of each app and state, by the indexes on these; then the newest of all these.
_NEWEST_OF_KINDS = f"""
SELECT job.* FROM (
    SELECT DISTINCT app, state FROM ({SIDES}) side
    WHERE (%(app)s::text IS NULL OR app = %(app)s) AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s))) kind
CROSS JOIN LATERAL (
    {newest("kind.app", "kind.state", condition="job.id + 0 < %(id)s::bigint", limit="%(scanned)s")}) job
ORDER BY job.id DESC LIMIT %(scanned)s
"""
# A range of the index ``job_name`` for each app. The operators with ~ compare bytes, like the collation "C". A job with
# the key of the last one on the previous page is read again, and left out.
_BY_KEY = """
SELECT job.* FROM ({apps}) of_app
CROSS JOIN LATERAL (
    SELECT * FROM job WHERE job.app = of_app.app AND job.key ~>=~ %(from)s::text AND job.key ~<~ %(to)s::text
      AND (job.key COLLATE "C", job.id) > (%(key_after)s::text, %(id)s::bigint)
    ORDER BY job.key USING ~<~ LIMIT %(scanned)s) job
ORDER BY job.key COLLATE "C", job.id LIMIT %(scanned)s
"""
_ONE_APP = "SELECT %(app)s::text AS app"
_ALL_APPS = f"SELECT DISTINCT app FROM ({SIDES}) side"
_OF_SUBMISSION = """
SELECT job.* FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = (SELECT number FROM submission WHERE submission.id = %(requested_by)s)
  AND submission_job.job < %(id)s::bigint
ORDER BY submission_job.job DESC LIMIT %(scanned)s
"""
# Two ranges of the index ``job_open_or_late``.
_LATE_JOBS = " UNION ALL ".join(
    f"(SELECT * FROM job WHERE late AND {saga} AND id < %(id)s::bigint ORDER BY id DESC LIMIT %(scanned)s)"
    for saga in ("saga_open", "NOT saga_open")
)
_LATE = f"SELECT job.* FROM ({_LATE_JOBS}) job ORDER BY job.id DESC LIMIT %(scanned)s"
_ADDED_BY = """
SELECT job.* FROM need JOIN job ON job.id = need.child
WHERE need.parent = %(added_by)s AND need.added AND need.child < %(id)s::bigint
ORDER BY need.child DESC LIMIT %(scanned)s
"""


class ListedJob(Struct, frozen=True, kw_only=True):
    """Line of a listing."""

    id: int
    app: str
    key: str
    state: State
    round: int
    priority: int
    created_at: datetime
    changed_at: datetime
    not_before: datetime | None
    paused: bool
    output_table: str | None
    uncollected: bool
    archived_at: datetime | None
    late: bool

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def span(self) -> tuple[str, str] | None:
        """First and last partition of a step; None for other jobs."""
        return ends_of(self.key) if self.output_table is not None else None


class JobPage(Struct, frozen=True, kw_only=True):
    """Some jobs in order, the total number on all pages, and the token of the next page. In ascending order there is
    always a next page, for future jobs. In descending order, None means that this was the last page."""

    jobs: list[ListedJob]
    total: int
    next: str | None


class FoundJobs(Struct, frozen=True, kw_only=True):
    """Page of a search. ``next`` is the token of the next page; None if this was the last."""

    jobs: list[ListedJob]
    next: str | None


def jobs(tx: Tx, wanted: JobFilter, *, order: Order, limit: int) -> list[ListedJob]:
    """Return the first of the selected jobs."""
    return _listed(tx, clause(wanted), PagePosition(), order=order, limit=limit)


def selected(tx: Tx, wanted: JobFilter, *, before: int | None = None, limit: int) -> list[ListedJob]:
    """Return the selected jobs with an id less than ``before``, the newest first. Default: the newest of all.

    To process all jobs in batches, pass the last id of a batch to the next call. Then each job comes at most once, and
    later jobs are left out. Jobs that were planned together come before the parents that they were planned with.
    """
    found = clause(wanted)
    sql = f"""
    SELECT {_LISTED} FROM job WHERE {found.sql} AND job.id < %(before)s::bigint ORDER BY job.id DESC LIMIT %(limit)s
    """
    return tx.structs(
        ListedJob, sql, **found.params, before=ID_MAX if before is None else before, limit=limit
    )


def page(tx: Tx, wanted: JobFilter, token: str | None, *, order: Order, limit: int) -> JobPage:
    """Return the page that a token leads to, or the first page. BadRequest for an invalid token or page size."""
    _require_size(limit, PAGE_MAX)
    place = PagePosition() if token is None else read_token(token, order)
    selected = clause(wanted)
    # This is read before the jobs, so that jobs of the transactions found here are held back.
    settled = tx.column(_SETTLED)[0] if _is_tailed(tx, order) else None
    found = _listed(tx, selected, place, order=order, limit=limit, settled=settled)
    total = tx.column(f"SELECT count(*) FROM job WHERE {selected.sql}", **selected.params)
    is_over = order.descending and len(found) < limit
    last = found[-1] if found else None
    at = place if last is None else PagePosition(_time(last, order), last.id)
    return JobPage(jobs=found, total=total[0], next=None if is_over else write_token(order, at))


def search(tx: Tx, wanted: JobFilter, token: str | None = None, *, limit: int = 50) -> FoundJobs:
    """Return the page that a token leads to, or the first page. BadRequest for a token of another list, or an invalid
    page size."""
    _require_size(limit, SEARCH_PAGE_MAX)
    scan = _scan_for(wanted, limit)
    after = _read(token, by_key=scan.by_key) if token else _before_all(by_key=scan.by_key)
    # The scan finds the jobs of the submission.
    fits = clause(structs.replace(wanted, submission=None))
    given = _bounds(wanted, after) | {"limit": limit, "scanned": scan.jobs_max}
    found = tx.structs(_Found, _searched(scan, fits), **fits.params, **given)
    fitting = [each for each in found if each.fits][:limit]
    last = fitting[-1] if len(fitting) == limit else found[-1] if found else None
    is_all = last is None or last.nth == last.scanned < scan.jobs_max
    return FoundJobs(jobs=[*fitting], next=None if last is None or is_all else _token(last, scan))


def _require_size(limit: int, most: int) -> None:
    if not 0 < limit <= most:
        raise BadRequest(f"A page has 1 to {most} jobs, and not {limit}.", advice="Read several pages.")


def _is_tailed(tx: Tx, order: Order) -> bool:
    """Return whether the page must end before the transactions under way. It need not if a test sets the clock, because
    that clock is unrelated to the start of transactions."""
    return not order.descending and tx.now is None


def _listed(
    tx: Tx,
    selected: Clause,
    place: PagePosition,
    *,
    order: Order,
    limit: int,
    settled: datetime | None = None,
) -> list[ListedJob]:
    time, direction = _TIMES[order.by], "DESC" if order.descending else "ASC"
    behind = f"({time}, job.id) {'<' if order.descending else '>'} (%(at)s::timestamptz, %(behind)s::bigint)"
    sql = f"""
    SELECT {_LISTED} FROM job WHERE {selected.sql}
      AND {"true" if place.at is None else behind}
      AND {"true" if settled is None else f"{time} < %(settled)s::timestamptz"}
    ORDER BY {time} {direction}, job.id {direction} LIMIT %(limit)s
    """
    given = {"at": place.at, "behind": place.id, "settled": settled, "limit": limit}
    return tx.structs(ListedJob, sql, **selected.params, **given)


def _time(job: ListedJob, order: Order) -> datetime:
    return job.created_at if order.by is OrderBy.CREATED else job.changed_at


class _Found(ListedJob, frozen=True, kw_only=True):
    """Job that was read. ``nth`` is its place among the ``scanned`` jobs."""

    fits: bool
    nth: int
    scanned: int


class _Scan(Struct, frozen=True, kw_only=True):
    """Query for the jobs to read for a page, in the order of an index, and their maximum number."""

    sql: str
    by_key: bool = False
    jobs_max: int = SCANNED_MAX


class _Place(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Job after which the next page begins: by key and id, or by id alone."""

    key: str | None
    id: int


def _scan_for(wanted: JobFilter, limit: int) -> _Scan:
    """Return the scan for a filter. If all jobs that it reads fit, one more than the page holds shows that more
    exist."""
    if wanted.submission is not None:
        return _Scan(sql=_OF_SUBMISSION)
    if wanted.added_by is not None:
        return _Scan(sql=_ADDED_BY)
    if wanted.late:
        return _Scan(sql=_LATE)
    if wanted.key:
        return _by_key(wanted, limit)
    all_fit = wanted == JobFilter(app=wanted.app, states=wanted.states)
    has_kinds = wanted.app is not None or wanted.states
    sql = _NEWEST_OF_KINDS if has_kinds else _NEWEST_OF_ALL
    return _Scan(sql=sql, jobs_max=1 + (limit if all_fit else SEARCH_PAGE_MAX))


def _by_key(wanted: JobFilter, limit: int) -> _Scan:
    """Return the scan for keys with a prefix. Without an app, each app is a range of its own, and fewer jobs are read
    of each."""
    sql = _BY_KEY.format(apps=_ALL_APPS if wanted.app is None else _ONE_APP)
    if wanted == JobFilter(app=wanted.app, key=wanted.key):
        return _Scan(sql=sql, by_key=True, jobs_max=1 + limit)
    return _Scan(sql=sql, by_key=True, jobs_max=1 + SEARCH_PAGE_MAX if wanted.app is None else SCANNED_MAX)


def _bounds(wanted: JobFilter, after: _Place) -> dict[str, object]:
    """Return the parameters of the scans: the jobs to read, and the end of the previous page."""
    prefix = wanted.key or ""
    return {
        "requested_by": wanted.submission,
        "states": [str(state) for state in wanted.states] or None,
        "from": max(prefix, after.key or ""),
        "to": prefix + _LAST_CHARACTER,
        "key_after": after.key,
        "id": after.id,
    }


def _searched(scan: _Scan, fits: Clause) -> str:
    order = 'job.key COLLATE "C", job.id' if scan.by_key else "job.id DESC"
    return f"""
    WITH job AS MATERIALIZED ({scan.sql}), seen AS (
        SELECT {_LISTED}, {fits.sql} AS fits, row_number() OVER (ORDER BY {order}) AS nth, count(*) OVER () AS scanned
        FROM job
    ), placed AS (SELECT *, count(*) FILTER (WHERE fits) OVER (ORDER BY nth) AS fitting FROM seen)
    SELECT * FROM placed WHERE fits AND fitting <= %(limit)s OR nth = scanned ORDER BY nth
    """


def _before_all(*, by_key: bool) -> _Place:
    return _Place("", 0) if by_key else _Place(None, ID_MAX)


def _token(last: ListedJob, scan: _Scan) -> str:
    return encode(_Place(last.key if scan.by_key else None, last.id))


def _read(text: str, *, by_key: bool) -> _Place:
    try:
        token = decode(text, _Place)
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
