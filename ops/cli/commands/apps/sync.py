"""Command ``sluice apps sync``: store the definitions of some sources under the name of a branch, and show the
changes.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import msgspec

from sluice.actors import audit_results
from sluice.actors.branches import Difference, Moved, sync
from sluice.actors.worker.definitions import Definitions
from sluice.jobs.text.units import counted
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", nargs="*", metavar="SOURCE", help="source of definitions; default: the sources of --apps"
    )
    parser.add_argument("--branch", required=True, help="branch to store; other branches start from 'main'")
    parser.add_argument("--user", help="user to record; default: none")
    parser.add_argument("--dry-run", action="store_true", help="only show the changes")


def run(context: CommandContext, options: Options) -> int:
    settings = context.settings
    if options.source:
        settings = msgspec.structs.replace(settings, apps=tuple(options.source))
        catalogue = Definitions(settings).current
    else:
        catalogue = context.catalogue
    installation = Installation(context)
    ledger = installation.ledger
    if not options.dry_run:
        ledger = installation.ledger_doing("apps sync", {"branch": options.branch}, audit_results.synced)
    difference = sync(ledger, options.branch, catalogue, by=options.user, dry_run=options.dry_run)
    context.output.answer(_document(difference), *_page(difference, dry_run=options.dry_run))
    return DONE


def _document(difference: Difference) -> dict[str, Any]:
    return {
        "branch": difference.branch,
        "apps": [msgspec.to_builtins(each) for each in difference.moved],
        "unchanged": list(difference.unchanged),
        "partitions": difference.partitions,
    }


def _page(difference: Difference, *, dry_run: bool) -> Iterator[Block]:
    would, done = ("would change", "") if dry_run else ("changed", " They are kept.")
    if not difference.moved:
        yield Paragraph(
            f"Nothing {'would change' if dry_run else 'has changed'} on {difference.branch}.", "green"
        )
        return
    yield Table(("app", "version", "to make again", ""), [_row(each) for each in difference.moved])
    again = [each.app for each in difference.moved if each.partitions]
    what = f"{counted(len(difference.moved), 'app')} {would} on {difference.branch}"
    if again:
        remade = f"{difference.partitions:,} existing partitions"
        yield Paragraph(f"{what}; {remade} must be made again: of {', '.join(again)}.{done}")
    else:
        yield Paragraph(f"{what}; no existing partition must be made again.{done}")


def _row(each: Moved) -> tuple[object, ...]:
    told = f"{each.before or 'new'} -> {each.after or 'gone'}"
    return each.app, told, each.partitions or "", "as on main" if each.shared else ""
