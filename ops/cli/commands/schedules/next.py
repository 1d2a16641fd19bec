"""Command ``sluice schedules next``: list the next due times. It reads only the definitions and needs no ledger."""

import argparse
import heapq
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sluice.jobs.schedules.schedule import Schedule, iso
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.cli.submission_options import moment_option
from sluice.ops.operations.timetable import coming_of, defined
from sluice.ops.text import moment
from sluice.scheduler.due_times import fire_at


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="schedule; default: all schedules")
    parser.add_argument(
        "--count", type=_count, default=10, metavar="N", help="number of due times; default: 10"
    )
    parser.add_argument(
        "--after", type=moment_option, metavar="T", help="list due times after this time; default: now"
    )


def run(context: CommandContext, options: Options) -> int:
    after = datetime.fromisoformat(options.after) if options.after else datetime.now(UTC)
    chosen = [defined(context, options.id)] if options.id else list(context.catalogue.schedules.values())
    merged = heapq.merge(*(coming_of(each, after) for each in chosen), key=lambda each: each[0])
    coming = list(islice(merged, options.count))
    context.output.answer(
        [_document(schedule, due) for due, schedule in coming],
        Table(
            ("due (UTC)", "schedule", "app", "local time"),
            [_row(schedule, due) for due, schedule in coming],
            empty="There are no further due times.",
        ),
    )
    return DONE


def _document(schedule: Schedule, due: datetime) -> dict[str, Any]:
    return {
        "schedule": schedule.id,
        "app": schedule.app,
        "due": iso(due),
        "fire_at": iso(fire_at(schedule, due)),
        "local": due.astimezone(schedule.zone).isoformat(),
        "timezone": schedule.zone.key,
    }


def _row(schedule: Schedule, due: datetime) -> tuple[str, ...]:
    """Return a row of the table. It has the UTC offset, because two local times look alike when clocks are changed."""
    which = f"{due.astimezone(schedule.zone):%a %H:%M:%S %z} in {schedule.zone.key}"
    if schedule.jitter_s:
        which += f", fired at {moment(fire_at(schedule, due))}"
    return moment(due), schedule.id, schedule.app, which


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} due times are too few; use at least 1")
    return number
