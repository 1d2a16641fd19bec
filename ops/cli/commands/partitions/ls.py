"""Command ``sluice partitions ls``: count the partitions of each table, in the version of the loaded definitions. For
one table it lists runs of partitions that exist, are under way, or are missing. A table with a second dimension has a
line for each slice.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.jobs.catalogue.resolve.tables import TableOf, slices_by, table_of, tables_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.model.names import JobName
from sluice.jobs.states import LIVE
from sluice.ledger.reads.by_partition import table_partitions
from sluice.ledger.reads.by_partition.table_partitions import Holding, PartitionRun, TableVersion
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import all_option, excerpt
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.cli.submission_options import by_of, by_option
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment
from sluice.planner.keyspaces.partitions.table_demand import ALL

#: Maximum number of runs of a table that are read in one call.
RUNS_MAX = 10_000


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table",
        nargs="?",
        help="list the partitions of this table; default: count the partitions of all tables",
    )
    by_option(parser, "only these slices of a table with a second dimension; default: all slices")
    parser.add_argument(
        "--from", dest="first", metavar="P", help="first partition to list; default: the first of the table"
    )
    parser.add_argument(
        "--to", dest="last", metavar="P", help="last partition to list; default: the last of the table"
    )
    all_option(parser)


def run(context: CommandContext, options: Options) -> int:
    by = by_of(options)
    named = [] if options.table is None else slices_by(context.catalogue, options.table, by)
    if len(named) == 1:
        return _one(context, table_of(context.catalogue, named[0]), options)
    _require_table(options, by, named)
    tables = [table_of(context.catalogue, name) for name in named] or list(tables_of(context.catalogue))
    places = [TableVersion(table.name, table.version) for table in tables]
    found = Installation(context).ask(lambda tx: table_partitions.holdings(tx, places, ALL))
    rows = [_row(table, found.get(table.name)) for table in tables]
    headings = (
        "table",
        "filled by",
        "unit",
        "first",
        "last",
        "existing",
        "stale",
        "under way",
        "missing",
        "holes",
    )
    documents = [_document(table, found.get(table.name)) for table in tables]
    context.output.answer(documents, Table(headings, rows, empty="No app fills or reads a table."))
    return DONE


def _require_table(options: Options, by: Mapping[str, Sequence[str]] | None, named: Sequence[str]) -> None:
    """Raise BadRequest if the options belong to one table, or to one slice, and none is named."""
    if by is not None and not named:
        raise BadRequest(
            "--by needs a table.", advice="Name the table: sluice partitions ls TABLE --by store=graz"
        )
    if options.first is None and options.last is None:
        return
    if named:
        raise BadRequest(
            f"--from and --to need one slice of {options.table}.", advice=f"Name one, like {named[0]!r}."
        )
    raise BadRequest(
        "--from and --to need a table.", advice="Name the table: sluice partitions ls TABLE --from P"
    )


def _one(context: CommandContext, table: TableOf, options: Options) -> int:
    place, within = TableVersion(table.name, table.version), _within(table, options)
    installation = Installation(context)
    holding = installation.ask(lambda tx: table_partitions.holdings(tx, [place], within)).get(table.name)
    found = installation.ask(lambda tx: table_partitions.runs(tx, place, within, limit=RUNS_MAX))
    ends = Span(
        within.first if options.first or not found else found[0].first,
        within.last if options.last or not found else found[-1].last,
    )
    told = [_told(table.calendar, each) for each in _with_holes(found, ends)] if found else []
    context.output.answer(
        {**_document(table, holding), "runs": told}, *_page(table, told, whole=options.whole)
    )
    if len(found) == RUNS_MAX:
        context.output.note(Paragraph("There may be more; use --from to continue.", "bright_black"))
    return DONE


def _within(table: TableOf, options: Options) -> Span:
    try:
        first = table.calendar.read(options.first) if options.first else ALL.first
        last = table.calendar.read(options.last) if options.last else ALL.last
    except ValueError as error:
        raise BadRequest(
            f"--from or --to is not a partition of {table.name}: {error}.", where=table.name
        ) from None
    return Span(first, last)


def _with_holes(found: Sequence[PartitionRun], ends: Span) -> Iterator[PartitionRun]:
    """Yield the runs in order, with a hole between two runs for partitions that have no job."""
    ahead = ends.first
    for each in found:
        if each.first > ahead:
            yield _hole(ahead, each.first - 1)
        yield each
        ahead = max(ahead, each.last + 1)
    if ahead <= ends.last:
        yield _hole(ahead, ends.last)


def _hole(first: int, last: int) -> PartitionRun:
    return PartitionRun(
        first=first, last=last, done=False, stale=False, since=None, app=None, key=None, state=None, makers=0
    )


def _told(calendar: Calendar, each: PartitionRun) -> dict[str, Any]:
    """Return a run as a document. A missing run has the state of the dead jobs that were to make it, if there were
    any.
    """
    is_to_come = not each.done and each.state in LIVE
    told: dict[str, Any] = {
        "span": [calendar.write(each.first), calendar.write(each.last)],
        "partitions": each.last - each.first + 1,
        "is": "stale" if each.stale else "there" if each.done else "under way" if is_to_come else "missing",
    }
    if each.since:
        told["since"] = each.since
    if each.state and not each.done:
        told["state"] = each.state
    if each.makers > 1:
        told["makers"] = each.makers
    elif each.app and each.key:
        told["job"] = [each.app, each.key]
    elif each.done:
        told["landed"] = True
    return told


def _document(table: TableOf, holding: Holding | None) -> dict[str, Any]:
    document = {
        "table": table.name,
        "app": table.app.name if table.app else None,
        "unit": table.calendar.unit,
        "version": table.version,
        "there": holding.there if holding else 0,
        "stale": holding.stale if holding else 0,
        "under_way": holding.under_way if holding else 0,
        "missing": holding.missing if holding else 0,
        "holes": holding.holes if holding else 0,
    }
    if holding:
        first, last = holding.span
        document |= {"first": table.calendar.write(first), "last": table.calendar.write(last)}
    return document


def _row(table: TableOf, holding: Holding | None) -> tuple[object, ...]:
    who = table.filled_by or "external"
    if holding is None:
        return table.name, who, table.calendar.unit, "", "", 0, 0, 0, 0, 0
    ends = (table.calendar.write(each) for each in holding.span)
    counts = holding.there, holding.stale, holding.under_way, holding.missing, holding.holes
    return table.name, who, table.calendar.unit, *ends, *counts


def _page(table: TableOf, told: Sequence[dict[str, Any]], *, whole: bool) -> Iterator[Block]:
    rows = excerpt(
        [(*_span(each), str(each["is"]), _whose(table, each), moment(each.get("since"))) for each in told],
        alike=lambda row: row[2],
        rest=lambda row, words: (words, "", row[2], "", ""),
        whole=whole,
    )
    headings = ("partitions", "how many", "", "by", "since (UTC)")
    yield Table(headings, list(rows), empty=f"No partition of {table.name} exists or is under way.")


def _span(each: dict[str, Any]) -> tuple[str, str]:
    first, last = each["span"]
    return first if first == last else f"{first}..{last}", str(each["partitions"])


def _whose(table: TableOf, each: dict[str, Any]) -> str:
    if "landed" in each:
        return f"jobs of {table.daily_maker.name}" if table.daily_maker else "external"
    if "makers" in each:
        who, are = f"{each['makers']} jobs", "are"
    elif "job" in each:
        who, are = str(JobName(*each["job"])), "is"
    else:
        return ""
    return f"{who}, which {are} {each['state']}" if "state" in each else who
