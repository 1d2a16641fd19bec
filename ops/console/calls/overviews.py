"""Overview of the installation, and search for jobs."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.key_fields import readings_for
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.jobs.text.filter_parser import parse_condition
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import job_details, job_lists
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ledger.reads.job_lists import FoundJobs, ListedJob
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import Response, Unreadable
from sluice.ops.console.paging import Limit
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import INSTALLATION, Tenancy, listed
from sluice.ops.observe.metrics.exposition import CONTENT_TYPE
from sluice.ops.observe.overview.page import Overview, narrowed
from sluice.ops.operations.job_names import job_of


class Sought(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Search for jobs. ``key`` is the beginning of their keys, and ``where`` a condition like that of ``sluice ls``.
    ``added_by`` is the job that has added them: APP/KEY. With ``late``, only jobs that are or were late. ``after`` is
    the ``next`` of the previous page.
    """

    app: str | None = None
    state: tuple[State, ...] = ()
    key: str | None = None
    submission: str | None = None
    added_by: str | None = None
    late: bool = False
    where: str | None = None
    after: str | None = None
    limit: Limit = 50


class Found(Struct, frozen=True, kw_only=True):
    app: str
    key: str
    state: State
    round: int
    priority: int
    created_at: datetime
    changed_at: datetime
    not_before: datetime | None
    paused: bool
    uncollected: bool
    archived_at: datetime | None
    late: bool


class Jobs(Struct, frozen=True):
    """Page of jobs. It may be short, or empty, and still have a ``next``."""

    jobs: Sequence[Found]
    next: str | None


def overview(console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]) -> Overview:
    return console.ask(console.overview)


def jobs(console: ConsoleContext, asked: CallArguments[Sought, NoParameters]) -> Jobs:
    query = asked.query
    try:
        wanted = structs.replace(_wanted(console, query), apps=asked.reach.listed)
        added_by = None if query.added_by is None else job_of(console.context, query.added_by)
        page = console.ask(lambda tx: _search(tx, wanted, query, added_by))
    except BadRequest as error:
        raise Unreadable(error.what, advice=error.advice) from None
    return Jobs([_told(each) for each in page.jobs], page.next)


def _wanted(console: ConsoleContext, query: Sought) -> JobFilter:
    where = None if query.where is None else parse_condition(query.where, datetime.now(UTC))
    definitions = (lambda: console.catalogue) if console.has_definitions else None
    return JobFilter(
        app=query.app,
        states=query.state,
        key=query.key,
        submission=query.submission,
        late=query.late,
        where=where,
        readings=readings_for(where, definitions),
    )


def _search(tx: Tx, wanted: JobFilter, query: Sought, added_by: JobName | None) -> FoundJobs:
    if added_by is not None:
        adding = job_details.job(tx, added_by)
        if adding is None:
            return FoundJobs(jobs=[], next=None)
        wanted = structs.replace(wanted, added_by=adding.id)
    return job_lists.search(tx, wanted, query.after, limit=query.limit)


def _told(job: ListedJob) -> Found:
    return Found(**{word: getattr(job, word) for word in Found.__struct_fields__})


def metrics(console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]) -> Response:
    """Return all metrics. They are no part of the API: Prometheus expects this path and this format."""
    return Response(kind=CONTENT_TYPE, content=console.metrics.text().encode())


ROUTES = (
    Route(
        method="GET",
        path="/api/overview",
        call=overview,
        summary="Counts, queues, workers and alerts",
        answers=Overview,
        tenancy=Tenancy(keeps=lambda whole, reach: narrowed(whole, reach.has)),
    ),
    Route(
        method="GET",
        path="/api/jobs",
        call=jobs,
        summary="Jobs, the newest first",
        answers=Jobs,
        tenancy=listed("jobs"),
        query=Sought,
    ),
    Route(
        method="GET",
        path="/metrics",
        call=metrics,
        summary="All metrics, in the format of Prometheus",
        answers=str,
        tenancy=INSTALLATION,
        kind=CONTENT_TYPE,
        bounded=True,
    ),
)
