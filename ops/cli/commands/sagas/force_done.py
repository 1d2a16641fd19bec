"""Command ``sluice saga force-done``: count the failed undo of a saga as done, because it was done by hand. The saga
goes on after it.
"""

import argparse

from sluice.actors import audit_results
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import yes_option
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.parser import job_options
from sluice.ops.documents.flight_texts import counted
from sluice.ops.operations.context import whoami
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.sagas import failed_undo


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    yes_option(parser)
    parser.add_argument(
        "--note", metavar="TEXT", help="how it was undone by hand; the journal records it; default: no note"
    )


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    found, line = failed_undo(context, installation, options.app, options.key)
    name = found.job.name
    context.confirm(
        f"Is {counted(found.flight, line.step)}, of {name} undone by hand?", is_confirmed=options.yes
    )
    by = whoami()
    about = {"app": name.app, "key": name.key, "note": options.note}
    client = installation.doing("saga force-done", about, audit_results.forced(line.name))
    submission = client.force_done(name, by=by, note=options.note)
    document = {
        "app": name.app,
        "key": name.key,
        "forced": {"step": line.step, "name": line.name},
        "by": by,
        "submission": submission,
    }
    told = f"The undo of {counted(found.flight, line.step)}, counts as done; {name} continues."
    context.output.answer(document, Paragraph(told))
    return DONE
