"""Command ``sluice cancel``: stop a submission and its jobs that no other submission requests, or stop one job or all
selected jobs regardless of other submissions.
"""

import argparse
from functools import partial

from sluice.actors import audit_results
from sluice.ledger.reads import saga_details
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.selection import carry_out, is_selection, name_target, selection_options
from sluice.ops.operations.cancel import cancel_job
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.operations.selected_jobs import JobOperation, cancelling


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="SUBMISSION | APP", help="a submission's id, an app, or APP/KEY"
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="with an app: the one job to stop")
    selection_options(parser)


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    name_target(installation, options)
    if is_selection(options, options.target, options.key):
        return carry_out(context, installation, options, partial(_cancelling, installation), "cancelled")
    if options.key is None:
        client = installation.doing("cancel", {"submission": options.target}, audit_results.cancelled)
        stopped = len(client.cancel(options.target))
        undone = installation.ask(lambda tx: saga_details.count_aborting(tx, options.target))
        what = f"Submission {options.target} is cancelled"
    else:
        meant = meant_job(context, installation, options.target, options.key).name
        about = {"app": meant.app, "key": meant.key}
        client = installation.doing("cancel", about, audit_results.job_cancelled(meant))
        name, stopped, undone = cancel_job(context, installation, client, options.target, options.key)
        what = f"{name} is cancelled"
    told = f"{what}; {stopped} {'job stops' if stopped == 1 else 'jobs stop'}"
    if undone:
        told += f", and {'1 saga is' if undone == 1 else f'{undone} sagas are'} undone first"
    first = {"undone_first": undone} if undone else {}
    context.output.answer({"cancelled": stopped, **first}, Paragraph(f"{told}."))
    return DONE


def _cancelling(installation: Installation, where: str) -> JobOperation:
    client = installation.doing("cancel", {"where": where}, audit_results.cancelled)
    return cancelling(client, installation.ask)
