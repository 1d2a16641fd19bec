"""Command ``sluice schedules ls``: list the schedules with their states, or the outcomes of one schedule's due
times.
"""

import argparse
from datetime import UTC, datetime

import msgspec

from sluice.ledger.reads import schedule_states as reads
from sluice.ledger.reads.schedule_states import FiringRecord, Scheduled
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.schedules import all_schedules, as_document
from sluice.ops.operations.timetable import unknown
from sluice.ops.text import moment


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="list the due times of this schedule, the last first; default: list all schedules",
    )
    parser.add_argument(
        "--all", action="store_true", help="also list schedules that were removed from their source"
    )
    parser.add_argument(
        "-n", "--limit", type=int, default=30, metavar="N", help="maximum number of due times; default: 30"
    )


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    found = all_schedules(context, installation, datetime.now(UTC))
    if options.id is not None:
        return _one(context, installation, options.id, found, max(options.limit, 0))
    shown = [found[id_] for id_ in sorted(found) if options.all or not found[id_].retired_at]
    last = installation.ask(reads.last)
    context.output.answer(
        [as_document(each, last) for each in shown],
        Table(
            ("schedule", "app", "rule", "zone", "next due (UTC)", "last due (UTC)", "outcome"),
            [_row(each, last.get(each.id)) for each in shown],
            prose=True,
            empty="No schedules. Define them in a source, under `schedules`.",
        ),
    )
    return DONE


def _one(
    context: CommandContext, installation: Installation, id_: str, found: dict[str, Scheduled], limit: int
) -> int:
    if id_ not in found:
        raise unknown(id_, found, listing="sluice schedules ls --all")
    firings = installation.ask(lambda tx: reads.recent(tx, id_, limit))
    context.output.answer(
        {**msgspec.structs.asdict(found[id_]), "firings": firings},
        Table(
            ("due (UTC)", "decided (UTC)", "outcome"),
            [(moment(each.due), moment(each.at), _came_to(each)) for each in firings],
            prose=True,
            empty=f"No due time of {id_} has come yet; the next is {_next(found[id_])}.",
        ),
    )
    return DONE


def _row(each: Scheduled, last: FiringRecord | None) -> tuple[str, ...]:
    due, came_to = (moment(last.due), _came_to(last)) if last else ("", "")
    return each.id, each.app, each.rule, each.timezone, _next(each), due, came_to


def _next(each: Scheduled) -> str:
    if each.retired_at:
        return "left its source"
    if each.paused_at:
        return "paused"
    if each.next_due is None:
        return "none to come"
    return moment(each.next_due) + ("" if each.taken_up else ", once `sluice up` runs")


def _came_to(each: FiringRecord) -> str:
    """Return the outcome of a due time, like ``fired: schedule:nightly:2026-11-20T02:00:00Z, succeeded`` or ``missed:
    45m late``.
    """
    what = ", ".join(filter(None, (each.submission, each.state, each.note)))
    return f"{each.outcome}: {what}" if what else str(each.outcome)
