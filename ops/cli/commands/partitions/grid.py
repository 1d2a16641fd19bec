"""Command ``sluice grid``: show the progress of a submission about partitions or days, with a line for each app. An app
of a table with a second dimension has a line for each slice.

Each app is shown from the first to the last partition that the submission requests or needs. This includes partitions
that existed before, and partitions in between that other submissions make. If there are too many partitions for a line,
several share a column.

An app whose keys have one date is shown by day. Only the jobs of this submission count. A day has the state of the job
that needs most attention.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec.structs import replace

from sluice.jobs.catalogue.resolve.tables import slices_by
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import submission_progress
from sluice.ledger.reads.by_partition import submission_grid as reading
from sluice.ledger.reads.by_partition.table_partitions import CellCounts, TableVersion
from sluice.ledger.reads.submission_progress import SubmissionStatus
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import watch_option
from sluice.ops.cli.page import Block, Paragraph, StyledLine, Table, colour
from sluice.ops.cli.submission_result import in_words
from sluice.ops.documents.dated_apps import DAILY, Days, cells_of, dated_keys, day_of, urgent_days
from sluice.ops.documents.grid import (
    Axis,
    CellMark,
    PartitionRow,
    Strip,
    as_document,
    axis,
    mark,
    strip,
    total,
)
from sluice.ops.operations.installation import Installation
from sluice.planner.keyspaces.partitions.partition_keys import partitioning_of

#: Number of columns if the line has no limit, for people and for programs. Programs can read more columns.
COLUMNS, COLUMNS_OF_DOCUMENT = 100, 1000
COLUMNS_MIN = 10

Cells = Sequence[CellCounts]


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)
    parser.add_argument("submission", help="id of the submission")
    parser.add_argument(
        "--columns", type=int, metavar="N", help="maximum number of columns; default: as many as fit"
    )


def run(context: CommandContext, options: Options) -> int:
    found = Installation(context).ask(lambda tx: _read(tx, context, options))
    if found is None:
        said = f"Submission {options.submission} has no partitions and no days to show."
        context.output.answer({"apps": []}, Paragraph(said, "bright_black"))
        return DONE
    along, shown = found
    document = {"apps": [as_document(each, cells) for each, cells in shown]}
    context.output.answer(document, *_page(along, shown))
    return DONE


def _read(tx: Tx, context: CommandContext, options: Options) -> tuple[Axis, list[tuple[Strip, Cells]]] | None:
    status = submission_progress.status(tx, options.submission)
    if status is None:
        raise BadRequest(
            f"There is no submission {options.submission}.",
            advice="`sluice submissions` lists the submissions.",
        )
    days = _days(tx, context, status)
    found = [*_rows(tx, context, status), *(_by_day(status, *each) for each in days.items())]
    if not found:
        return None
    rows = sorted(found, key=lambda row: (context.catalogue.rank(row.app), row.label))
    along = axis(rows, max(options.columns or _columns(context, rows), COLUMNS_MIN))
    strips = [strip(row, along) for row in rows]
    return along, [(each, _cells(tx, each, days)) for each in strips]


def _rows(tx: Tx, context: CommandContext, status: SubmissionStatus) -> Iterator[PartitionRow]:
    """Yield a row for each app that the definitions have. The requested partitions are shown even if no job was needed
    for them.
    """
    rows = {row.label: row for row in _asked(context, status)}
    for each in reading.extents(tx, status.id):
        if _is_bounded(context, each.app):
            calendar = partitioning_of(context.catalogue[each.app]).calendar
            row = PartitionRow(each.app, each.place, calendar, each.span)
            if asked := rows.get(row.label):
                row = replace(
                    row, span=Span(min(row.span.first, asked.span.first), max(row.span.last, asked.span.last))
                )
            rows[row.label] = row
    yield from rows.values()


def _days(tx: Tx, context: CommandContext, status: SubmissionStatus) -> dict[str, Days]:
    """Return the days of the submission's jobs and their most urgent states, for each app whose keys have one date."""
    found = reading.jobs_by_day(tx, status.id, dated_keys(context.catalogue))
    return {app: days for app, counts in found.items() if (days := urgent_days(counts))}


def _by_day(status: SubmissionStatus, app: str, days: Days) -> PartitionRow:
    """Return the row of an app whose keys have a date. The requested days are shown even if they have no jobs."""
    asked = [day_of(text) for text in (status.start, status.end) if text and app == status.app]
    shown = [*days, *(day for day in asked if day is not None)]
    return PartitionRow(app, None, DAILY, Span(min(shown), max(shown)))


def _is_bounded(context: CommandContext, app: str) -> bool:
    """Return whether the app is defined and its work ends. Work that never ends makes no partitions."""
    return app in context.catalogue and not context.catalogue[app].unbounded


def _asked(context: CommandContext, status: SubmissionStatus) -> Iterator[PartitionRow]:
    """Yield a row for each slice that the submission requests, or for its only table."""
    app = context.catalogue.get(status.app)
    if app is None or app.partitioning is None or app.unbounded or not (status.start and status.end):
        return
    try:
        calendar = app.partitioning.calendar
        span = Span(calendar.read(status.start), calendar.read(status.end))
        tables = slices_by(context.catalogue, app.partitioning.table, status.by)
    except (ValueError, BadRequest):
        return  # The submission was refused for it, or the definitions have changed since.
    yield from (PartitionRow(app.name, TableVersion(name, app.version), calendar, span) for name in tables)


def _columns(context: CommandContext, rows: Sequence[PartitionRow]) -> int:
    if context.output.is_document:
        return COLUMNS_OF_DOCUMENT
    return (context.output.width or COLUMNS) - _margin(rows)


def _margin(rows: Sequence[PartitionRow]) -> int:
    return max(len(row.label) for row in rows) + 2


def _cells(tx: Tx, each: Strip, days: Mapping[str, Days]) -> Cells:
    if each.row.place is not None:
        begins = [stretch.first for stretch in each.stretches]
        return reading.cells(tx, each.row.place, each.row.span, begins)
    return cells_of(each, days[each.row.app])


def _page(along: Axis, shown: Sequence[tuple[Strip, Cells]]) -> Iterator[Block]:
    margin = _margin([each.row for each, _ in shown])
    marks: list[CellMark] = []
    for each, cells in shown:
        line = [mark(*cell) for cell in zip(each.stretches, cells, strict=True)]
        marks += line
        runs = [(one, "".join(each.sign for each in of)) for one, of in groupby(line)]
        coloured = [(text, colour(one.state) if one.state else "bright_black") for one, text in runs]
        yield StyledLine([(each.row.label.ljust(margin) + " " * each.before, ""), *coloured])
    legend = (f"{each.sign} {each.meaning}" for each in dict.fromkeys(marks))
    yield Paragraph(f"{'':{margin}}a column is {along.in_words}: {', '.join(legend)}", "bright_black")
    yield Paragraph()
    rows = [(*_ends(each.row), len(each.row.span), in_words(total(cells))) for each, cells in shown]
    are_days = all(each.row.place is None for each, _ in shown)
    yield Table(("app", "from", "to", "days" if are_days else "partitions", "outcome"), rows, prose=True)


def _ends(row: PartitionRow) -> tuple[str, str, str]:
    return row.label, row.calendar.write(row.span.first), row.calendar.write(row.span.last)
