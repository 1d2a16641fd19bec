"""Command ``sluice schedules fire``: make the submission of a schedule by hand, now or for a due time of the
schedule.
"""

import argparse
from datetime import datetime

from sluice.actors import audit_results
from sluice.actors.scheduler.manual import fire
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import iso
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.follow import watch
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.submission_options import is_waiting, moment_option, wait_options
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.timetable import defined, require_due


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="schedule to fire; it may be paused")
    parser.add_argument(
        "--due",
        type=moment_option,
        metavar="T",
        help="fire for this due time of the schedule, at most once; default: now",
    )
    wait_options(parser)


def run(context: CommandContext, options: Options) -> int:
    schedule = defined(context, options.id)
    installation = Installation(context)
    due = datetime.fromisoformat(options.due) if options.due else None
    if due is not None:
        require_due(installation, schedule, due)
    about = {"schedule": schedule.id, "due": due}
    fired = fire(installation.ledger_doing("schedules fire", about, audit_results.fired), schedule, due)
    installation.client.have_planned([fired.submission])
    if not fired.is_new:
        what = f"{schedule.id} was fired for {iso(fired.due)} before; nothing new is submitted."
        context.output.note(Paragraph(what, "yellow"))
    if is_waiting(options):
        return watch(context, installation, fired.submission, options.wait_timeout)
    status = installation.client.status(fired.submission)
    state = status.state if status else SubmissionState.RECEIVED
    document = {"submission": fired.submission, "state": state, "due": iso(fired.due), "new": fired.is_new}
    context.output.answer({"schedule": schedule.id, **document}, Paragraph(fired.submission))
    return DONE
