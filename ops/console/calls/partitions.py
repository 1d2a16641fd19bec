"""Tables and their partitions: all tables, the grid of partitions, and the job that makes a partition."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct

from sluice.actors import audit_results
from sluice.actors.branches import branch_of
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of, tables_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Unit
from sluice.jobs.keys.partitions import value_of
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads.by_partition import partition_grid
from sluice.ledger.reads.by_partition.partition_grid import TableRange
from sluice.ledger.reads.by_partition.table_partitions import TableVersion
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import Unreadable
from sluice.ops.console.route import CallArguments, NoParameters, Route, action
from sluice.ops.console.tenancy import NARROWED, Tenancy, TenantReach
from sluice.ops.documents.partition_grid import BadWindow, Grid, grid


class Held(Struct, frozen=True, kw_only=True):
    """Table and its partitions. ``app`` fills the table; null if no app of this installation does. ``first`` and
    ``last`` are its first and last partition that a job makes or has made, or that has landed. ``landed`` is the
    number of existing partitions, as an estimate if ``about`` is set.
    """

    table: str
    app: str | None
    unit: Unit
    first: str | None
    last: str | None
    landed: int
    about: bool


class Tables(Struct, frozen=True):
    tables: Sequence[Held]


class Window(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"first": "from", "last": "to"}
):
    """Window of the grid, from one partition to another, of any unit. Default: the last hundred columns. With
    ``branch``, the grid has the tables of that branch.
    """

    first: str | None = None
    last: str | None = None
    branch: str | None = None


class GridCell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    table: str
    partition: str
    branch: str | None = None


class LandedPartitions(Struct, frozen=True, forbid_unknown_fields=True):
    """Partitions that have landed. Each entry is a partition, or a range: 2024-04-01..2024-04-07. With ``again``
    existing ones have new contents.
    """

    partitions: Annotated[tuple[str, ...], Meta(min_length=1)]
    again: bool = False


class LandedTable(Struct, frozen=True, kw_only=True):
    """Number of partitions that did not exist before (``landed``), of existing ones that landed again (``again``), and
    by table of partitions that have become stale (``stale``).
    """

    table: str
    landed: int
    again: int
    stale: Mapping[str, int]


class StaleSelection(Struct, frozen=True, forbid_unknown_fields=True):
    """Stale partitions to make again: those that are made from this table or by its app, or from these ``partitions``
    of it, or all of them. ``by`` selects slices of the table, like ``{"store": ["oslo"]}``. Default: all slices.
    """

    table: str | None = None
    partitions: tuple[str, ...] = ()
    by: Mapping[str, str | tuple[str, ...]] | None = None


class Restated(Struct, frozen=True):
    """New submissions, one for each app that makes stale partitions again."""

    submissions: Sequence[str]


class Maker(Struct, frozen=True, kw_only=True):
    """Job that makes a partition. ``there``: the partition exists, ``since`` that time; otherwise the job has been in
    its state ``since`` that time. Without a job, the partition came from elsewhere or was never requested. ``stale``:
    a partition that it was made from has landed again since, or is stale itself. ``by`` selects the slice with this
    partition. It is empty for a table without a second dimension.
    """

    table: str
    by: Mapping[str, str]
    partition: str
    there: bool
    stale: bool
    app: str | None
    key: str | None
    state: State | None
    since: datetime | None


def partitions(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Tables:
    catalogue = console.catalogue
    tables = [table for table in tables_of(catalogue) if _is_shown(catalogue, asked.reach, table.name)]
    places = [TableVersion(table.name, table.version) for table in tables]
    found = console.ask(lambda tx: partition_grid.extents(tx, places))
    return Tables([_held(table, found.get(table.name)) for table in tables])


def _apps_of(catalogue: Catalogue, table: str) -> list[str]:
    """Return the app that fills a table. For an external table, return the apps that read it."""
    maker = catalogue.fills(table) or catalogue.makes_days_of(table)
    return [maker.name] if maker else [app.name for app, _ in catalogue.readers_of(table)]


def _is_shown(catalogue: Catalogue, reach: TenantReach, table: str) -> bool:
    """Return whether a table is filled by an app of the sender, or is external and read by one."""
    return reach.apps is None or any(map(reach.has, _apps_of(catalogue, table)))


def _named(console: ConsoleContext, asked: CallArguments[GridCell, NoParameters]) -> list[str]:
    """Return an app of the sender that fills or reads the table, or all apps that do."""
    query = asked.query
    apps = _apps_of(console.ask(lambda tx: _catalogue(console, tx, query.branch)), query.table)
    return [app for app in apps if asked.reach.has(app)][:1] or apps


def _landed(console: ConsoleContext, asked: CallArguments[NoParameters, Any]) -> list[str]:
    """Return the apps that a landing concerns, for each slice of the table."""
    (table,) = asked.words
    tables = console.catalogue.slices_of(table) or (table,)
    return [app for each in tables for app in _apps_of(console.catalogue, each)]


def side_by_side(console: ConsoleContext, asked: CallArguments[Window, NoParameters]) -> Grid:
    query, reach = asked.query, asked.reach

    def read(tx: Tx) -> Grid:
        catalogue = _catalogue(console, tx, query.branch)
        has_table = partial(_is_shown, catalogue, reach)
        return grid(tx, catalogue, query.first, query.last, has_table=has_table, has_app=reach.has)

    try:
        return console.ask(read)
    except BadWindow as error:
        raise Unreadable(error.what, advice=error.advice) from None


def cell(console: ConsoleContext, asked: CallArguments[GridCell, NoParameters]) -> Maker:
    query = asked.query

    def read(tx: Tx) -> Maker:
        table = table_of(_catalogue(console, tx, query.branch), query.table)
        try:
            partition = table.calendar.read(query.partition)
        except ValueError as error:
            raise Unreadable(f"{query.partition!r} is not a partition of {table.name}: {error}.") from None
        found = partition_grid.owner(tx, TableVersion(table.name, table.version), partition)
        return Maker(
            table=table.name,
            by=dict([by]) if (by := value_of(table.name)) else {},
            partition=table.calendar.write(partition),
            there=found is not None and found.done_at is not None,
            stale=found is not None and found.done_at is not None and found.stale_since is not None,
            app=found.app if found else None,
            key=found.key if found else None,
            state=found.state if found else None,
            since=(found.done_at or found.changed_at) if found else None,
        )

    return console.ask(read)


def land(console: ConsoleContext, asked: CallArguments[NoParameters, LandedPartitions]) -> LandedTable:
    (table,), partitions = asked.words, asked.body.partitions
    about = {"table": table, "partitions": partitions[: audit_results.NAMED_MAX]}
    client = console.doing(asked.who, "land", about, audit_results.landed)
    landing = client.land(table, partitions, again=asked.body.again)
    return LandedTable(table=table, landed=landing.new, again=landing.again, stale=landing.stale)


def restate(console: ConsoleContext, asked: CallArguments[NoParameters, StaleSelection]) -> Restated:
    table, partitions, by = asked.body.table, asked.body.partitions, asked.body.by
    if partitions and table is None:
        raise BadRequest("Partitions need a table.", advice="Name the table that they belong to.")
    about: dict[str, JSON] = {"table": table, "partitions": list(partitions[: audit_results.NAMED_MAX])}
    if by is not None:
        about["by"] = {name: [value] if isinstance(value, str) else [*value] for name, value in by.items()}
    client = console.doing(asked.who, "restate", about, audit_results.restated)
    return Restated(client.restate(table, partitions, by=by, apps=asked.reach.apps))


def _catalogue(console: ConsoleContext, tx: Tx, branch: str | None) -> Catalogue:
    return console.catalogue if branch is None else branch_of(tx, branch)


def _held(table: TableOf, extent: TableRange | None) -> Held:
    write = table.calendar.write
    return Held(
        table=table.name,
        app=table.app.name if table.app else None,
        unit=table.calendar.unit,
        first=write(extent.span.first) if extent else None,
        last=write(extent.span.last) if extent else None,
        landed=extent.there if extent else 0,
        about=extent is not None and extent.about,
    )


_PATH = "/api/partitions"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=partitions,
        summary="Tables, and their existing partitions",
        answers=Tables,
        tenancy=NARROWED,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/grid",
        call=side_by_side,
        summary="Grid of tables by time, with one character per cell",
        answers=Grid,
        tenancy=NARROWED,
        query=Window,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/cell",
        call=cell,
        summary="The job that makes one partition, or has made it",
        answers=Maker,
        tenancy=Tenancy(apps=_named),
        query=GridCell,
    ),
    action(
        f"{_PATH}/{{table}}/land",
        land,
        "Land partitions that were made outside Sluice",
        answers=LandedTable,
        tenancy=Tenancy(apps=_landed),
        body=LandedPartitions,
    ),
    action(
        f"{_PATH}/restate",
        restate,
        "Make stale partitions again",
        answers=Restated,
        tenancy=NARROWED,
        body=StaleSelection,
    ),
)
