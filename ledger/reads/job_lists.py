"""Lists of jobs by filter: the first of the jobs, or all of them page by page.

Invariant of pages: a caller that reads all pages sees each job that existed at the beginning exactly once. That holds
however many jobs have the same time, and however many are added in between. In order of ``changed``, a job that changes
in between moves: in ascending order it is seen again, in descending order it may be missed.

Race: a job gets its time when it is written, and becomes visible when that is committed, possibly after a job with a
later time. In ascending order, a reader that has passed the later job would never see it. So such a page ends before
the start of the oldest transaction that is still writing. Everything that this transaction has written or will write
has a later time, and is on the next page.
"""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.key_fields import KeyReadings
from sluice.jobs.keys.partitions import ends_of
from sluice.jobs.states import State
from sluice.jobs.text.filters import Condition
from sluice.jobs.text.paging import PAGE_MAX, Order, OrderBy, PagePosition, read_token, write_token
from sluice.ledger.database.connection import Tx
from sluice.ledger.managed_tasks import UNCOLLECTED
from sluice.ledger.reads.job_filters import Clause, clause

LISTED = f"""
job.id, job.app, job.key, job.state, job.round, job.priority, job.created_at, job.changed_at, job.not_before,
job.paused AND job.state = '{State.WAITING}' AS paused, job.output_table, {UNCOLLECTED} AS uncollected, job.archived_at
"""
# A null parameter does not restrict anything; Postgres drops the condition when it plans the query.
_WANTED = f"""
(%(app)s::text IS NULL OR job.app = %(app)s)
AND (%(states)s::text[] IS NULL OR job.state = ANY(%(states)s))
AND (%(since)s::timestamptz IS NULL OR job.changed_at >= %(since)s)
AND (%(submission)s::text IS NULL OR job.id IN (
    SELECT submission_job.job FROM submission_job JOIN submission ON submission.number = submission_job.submission
    WHERE submission.id = %(submission)s))
AND (NOT %(uncollected)s OR {UNCOLLECTED})
"""
_TIMES = {OrderBy.CREATED: "job.created_at", OrderBy.CHANGED: "job.changed_at"}
# A writing transaction has locked something before it takes the time of anything, so it has a transaction number by
# then. Postgres shows sessions of other roles only to roles that may read all statistics.
_SETTLED = """
SELECT least(statement_timestamp(), min(xact_start)) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND backend_xid IS NOT NULL
  AND pid <> pg_backend_pid()
"""
_ALL = Clause("true", {})


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

    @property
    def span(self) -> tuple[str, str] | None:
        """First and last partition of a step; None for other jobs."""
        return ends_of(self.key) if self.output_table is not None else None


class JobListFilter(Struct, frozen=True, kw_only=True):
    """Selection of jobs. None, or no states, does not restrict. ``readings`` are needed for the condition ``where``,
    and exist as far as definitions are available."""

    app: str | None = None
    states: tuple[State, ...] = ()
    submission: str | None = None
    since: datetime | None = None
    uncollected: bool = False
    where: Condition | None = None
    readings: KeyReadings | None = None
    order: Order = Order()
    limit: int = 100


class JobPage(Struct, frozen=True, kw_only=True):
    """Some jobs in order, the total number on all pages, and the token of the next page. In ascending order there is
    always a next page, for future jobs. In descending order, None means that this was the last page."""

    jobs: list[ListedJob]
    total: int
    next: str | None


def jobs(tx: Tx, wanted: JobListFilter) -> list[ListedJob]:
    """Return the first of the selected jobs."""
    return _listed(tx, wanted, _where(wanted), PagePosition())


def page(tx: Tx, wanted: JobListFilter, token: str | None) -> JobPage:
    """Return the page that a token leads to, or the first page. BadRequest for an invalid token or page size."""
    if not 0 < wanted.limit <= PAGE_MAX:
        raise BadRequest(
            f"A page has 1 to {PAGE_MAX} jobs, and not {wanted.limit}.", advice="Read several pages."
        )
    place = PagePosition() if token is None else read_token(token, wanted.order)
    where = _where(wanted)
    # This is read before the jobs, so that jobs of the transactions found here are held back.
    settled = tx.column(_SETTLED)[0] if _is_tailed(tx, wanted.order) else None
    found = _listed(tx, wanted, where, place, settled)
    total = tx.column(f"SELECT count(*) FROM job WHERE {_WANTED} AND {where.sql}", **_given(wanted, where))
    is_over = wanted.order.descending and len(found) < wanted.limit
    last = found[-1] if found else None
    at = place if last is None else PagePosition(_time(last, wanted.order), last.id)
    return JobPage(jobs=found, total=total[0], next=None if is_over else write_token(wanted.order, at))


def _is_tailed(tx: Tx, order: Order) -> bool:
    """Return whether the page must end before the transactions under way. It need not if a test sets the clock, because
    that clock is unrelated to the start of transactions."""
    return not order.descending and tx.now is None


def _listed(
    tx: Tx, wanted: JobListFilter, where: Clause, place: PagePosition, settled: datetime | None = None
) -> list[ListedJob]:
    time, direction = _TIMES[wanted.order.by], "DESC" if wanted.order.descending else "ASC"
    behind = f"({time}, job.id) {'<' if wanted.order.descending else '>'} (%(at)s::timestamptz, %(behind)s::bigint)"
    sql = f"""
    SELECT {LISTED} FROM job WHERE {_WANTED} AND {where.sql}
      AND {"true" if place.at is None else behind}
      AND {"true" if settled is None else f"{time} < %(settled)s::timestamptz"}
    ORDER BY {time} {direction}, job.id {direction} LIMIT %(limit)s
    """
    given = _given(wanted, where) | {"at": place.at, "behind": place.id, "settled": settled}
    return tx.structs(ListedJob, sql, **given, limit=wanted.limit)


def _where(wanted: JobListFilter) -> Clause:
    return _ALL if wanted.where is None else clause(wanted.where, wanted.readings)


def _given(wanted: JobListFilter, where: Clause) -> dict[str, object]:
    return {
        "app": wanted.app,
        "states": [str(state) for state in wanted.states] or None,
        "submission": wanted.submission,
        "since": wanted.since,
        "uncollected": wanted.uncollected,
        **where.params,
    }


def _time(job: ListedJob, order: Order) -> datetime:
    return job.created_at if order.by is OrderBy.CREATED else job.changed_at
