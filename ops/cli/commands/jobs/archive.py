"""Command ``sluice archive``: mark jobs as collected.

These are all jobs of an app that have ended, those with certain outcomes, named jobs, or the jobs that match a
condition. Their outcomes stay. ``sluice ls --uncollected`` lists the jobs that are not archived yet.

The command is for apps with ``archive: manual``. It archives the outcome that a job has at that moment.
"""

import argparse
from collections.abc import Sequence
from functools import partial

from sluice.actors import audit_results
from sluice.jobs.errors import BadRequest
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.managed_tasks import COLLECTED
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.selection import carry_out, is_selection, selection_options
from sluice.ops.operations.archive import archive_named
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.selected_jobs import JobOperation, archiving

#: Maximum number of jobs that one transaction archives.
BATCH = 10_000
_OUTCOMES = tuple(state for state in State if state in COLLECTED)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="APP", nargs="?", help="app of the jobs, or APP/KEY for one job")
    parser.add_argument(
        "key",
        nargs="*",
        help="keys of the jobs, of which all or none are archived; default: all finished jobs",
    )
    parser.add_argument(
        "--outcome",
        action="append",
        choices=[str(state) for state in _OUTCOMES],
        metavar="STATE",
        help="archive only jobs with this outcome; may be repeated; default: all; values: "
        + ", ".join(_OUTCOMES),
    )
    selection_options(parser)


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    if is_selection(options, options.app, options.key, options.outcome):
        return carry_out(context, installation, options, partial(_archiving, installation), "archived")
    outcomes = tuple(State(word) for word in options.outcome or _OUTCOMES)
    if options.key and options.outcome:
        raise BadRequest("Keys and --outcome cannot be combined.", advice="Give either keys or --outcome.")
    if options.key:
        archived = _named(context, installation, options.app, options.key)
    else:
        context.confirm(f"Archive all finished jobs of {options.app}?", is_confirmed=options.yes)
        archived = sum(_ended(installation, _app(context, options.app), state) for state in outcomes)
    jobs = "1 job is" if archived == 1 else f"{archived} jobs are"
    context.output.answer({"archived": archived}, Paragraph(f"{jobs} archived."))
    return DONE


def _app(context: CommandContext, app: str) -> str:
    """Return the name of the app. UnknownApp if the definitions do not have it. Without definitions, the ledger
    decides.
    """
    return context.catalogue.app(app).name if context.settings.apps else app


def _ended(installation: Installation, app: str, state: State) -> int:
    archived = 0
    about = {"app": app, "outcome": state}
    # Each batch is a transaction, and an act with an entry of its own.
    while batch := installation.ledger_doing("archive", about, audit_results.jobs_archived).transact(
        lambda tx: managed_tasks.archive_ended(tx, app, state, limit=BATCH)
    ):
        archived += len(batch)
    return archived


def _named(context: CommandContext, installation: Installation, app: str, keys: Sequence[str]) -> int:
    about = {"app": app, "keys": [*keys[: audit_results.NAMED_MAX]]}
    ledger = installation.ledger_doing("archive", about, audit_results.archived)
    return archive_named(context, installation, ledger, app, keys)


def _archiving(installation: Installation, where: str) -> JobOperation:
    return archiving(installation.ledger_doing("archive", {"where": where}, audit_results.jobs_archived))
