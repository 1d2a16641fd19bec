"""Command ``sluice apps branches``: list the branches, or the apps of one branch and whether it shares them with the
main branch.
"""

import argparse

from sluice.actors.branches import MAIN
from sluice.jobs.errors import BadRequest
from sluice.ledger.keyspaces import versions
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Table
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("branch", nargs="?", help="list the apps of this branch; default: list all branches")


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    return (
        _all(context, installation) if options.branch is None else _one(context, installation, options.branch)
    )


def _all(context: CommandContext, installation: Installation) -> int:
    found = installation.ask(versions.branches)
    rows = [(each.branch, each.apps, moment(each.synced_at), each.synced_by or "") for each in found]
    headings = ("branch", "apps", "synced (UTC)", "by")
    table = Table(headings, rows, empty="There are no branches; `sluice apps sync` makes one.")
    context.output.answer(found, table)
    return DONE


def _one(context: CommandContext, installation: Installation, branch: str) -> int:
    apps = installation.ask(lambda tx: versions.of_branch(tx, branch))
    main = {each.app: each.version for each in installation.ask(lambda tx: versions.of_branch(tx, MAIN))}
    if not apps:
        raise BadRequest(f"There is no branch {branch!r}.", advice="`sluice apps branches` lists them.")
    shared = {each.app for each in apps if main.get(each.app) == each.version}
    told = [
        {"app": each.app, "version": each.version, "main": main.get(each.app), "shared": each.app in shared}
        for each in apps
    ]
    rows = [
        (each.app, each.version, "the same" if each.app in shared else main.get(each.app, "missing"))
        for each in apps
    ]
    context.output.answer(told, Table(("app", "version", MAIN), rows))
    return DONE
