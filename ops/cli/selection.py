"""Options of commands that work on all jobs matching a condition, and their report."""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.key_fields import KeyReadings, readings_for
from sluice.jobs.text.filter_parser import parse_condition
from sluice.jobs.text.filters import Condition, needs_definitions
from sluice.ledger.reads import submission_progress
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import yes_option
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.selected_jobs import JobOperation, SelectionResult, in_batches, preview_of


def where_option(parser: argparse.ArgumentParser, description: str) -> None:
    """Add the option ``--where``, which has the same syntax in every command."""
    parser.add_argument("--where", metavar="CONDITION", help=description)


def selection_options(parser: argparse.ArgumentParser) -> None:
    where_option(
        parser,
        "instead: jobs that match a condition, as in ls, like: app = fetch and state = failed; default: the named jobs",
    )
    yes_option(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="with --where: only count the jobs and show the first ones"
    )


def is_selection(options: Options, *named: object) -> bool:
    """Return whether the command is about selected jobs. BadRequest if the options contradict each other. ``named`` are
    the values of options and arguments that belong to the other forms of the command, and the first must be given
    there.
    """
    if options.where is None:
        if not named[0]:
            raise BadRequest("Nothing is named.", advice="Give a name, or select jobs with --where.")
        if options.dry_run:
            raise BadRequest("--dry-run needs --where.")
        return False
    if any(named):
        raise BadRequest(
            "--where cannot be combined with names or with options other than --dry-run.",
            advice="Write the name into the condition, like app = fetch and key = 2026-11-20_oslo.",
        )
    return True


def name_target(installation: Installation, options: Options) -> None:
    """Read the target ``APP/KEY`` as an app and a key, unless it is the id of a submission, which may have a slash."""
    app, slash, key = (options.target or "").partition("/")
    if not slash or options.key is not None:
        return
    if installation.ask(lambda tx: submission_progress.status(tx, options.target)) is None:
        options.target, options.key = app, key


def selected_by(context: CommandContext, text: str) -> JobFilter:
    """Return the filter for a condition. BadRequest if it cannot be read."""
    where = parse_condition(text, datetime.now(UTC))
    return JobFilter(where=where, readings=_readings(context, where))


def carry_out(
    context: CommandContext,
    installation: Installation,
    options: Options,
    acting: Callable[[str], JobOperation],
    done: str,
) -> int:
    """Carry out an operation on the selected jobs, and print how many it has changed. ``acting`` returns the operation
    of one batch for the condition, which the audit records. ``done`` describes the new situation of the jobs, for
    example ``cancelled``."""
    wanted = selected_by(context, options.where)

    def operation() -> JobOperation:
        return preview_of(acting(options.where)) if options.dry_run else acting(options.where)

    if not options.dry_run:
        context.confirm(f"All jobs with {options.where} will be {done}. Continue?", is_confirmed=options.yes)
    total = sum(in_batches(installation.ask, wanted, operation), SelectionResult())
    document = {
        "selected": total.selected,
        "changed": total.changed,
        "refused": total.refused,
        "first": [f"{name}" for name in total.first],
        "submissions": total.submissions,
        "dry_run": options.dry_run,
    }
    context.output.answer(document, *_report(total, done, dry_run=options.dry_run))
    return DONE


def _readings(context: CommandContext, where: Condition) -> KeyReadings | None:
    """Return the readings of keys that the condition needs. If no definitions were given, note that there are none."""
    if context.settings.apps:
        return readings_for(where, lambda: context.catalogue)
    if needs_definitions(where):
        context.output.note(
            Paragraph("No definitions were given, so conditions on inputs check only kwargs.", "bright_black")
        )
    return None


def _report(total: SelectionResult, done: str, *, dry_run: bool) -> Iterator[Block]:
    would = "would be " if dry_run else ""
    be = "" if dry_run else "is " if total.changed == 1 else "are "
    jobs = "1 job" if total.selected == 1 else f"{total.selected} jobs"
    yield Paragraph(f"Of {jobs}, {total.changed} {would}{be}{done}.")
    if dry_run and total.first:
        names = ", ".join(str(name) for name in total.first)
        yield Paragraph(names + (", …" if total.changed > len(total.first) else ""), indent=2)
    if total.refused:
        refused = sorted(total.refused.items(), key=lambda each: (-each[1], each[0]))
        yield Table(("left", "reason"), [(number, why) for why, number in refused])
