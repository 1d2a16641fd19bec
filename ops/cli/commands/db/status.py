"""Command ``sluice db status``: show the schema of the ledger, the missing migrations, and the transactions that would
block them.
"""

import argparse
from contextlib import closing

from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads import server_health
from sluice.ledger.schema import migrate
from sluice.ops.cli.command import DONE, FAILED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.operations.installation import Installation
from sluice.ops.text import ago


def options(_: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(context: CommandContext, _: Options) -> int:
    url = Installation(context).ledger_url
    found = migrate.schema(url)
    pending = migrate.pending(found)
    with closing(Ledger(url, connections=1)) as ledger:
        blockers = (
            ledger.transact(lambda tx: server_health.blockers(tx, long_s=migrate.LOCK_S)) if found else []
        )
        now = ledger.transact(lambda tx: tx.current_time())
    document = {
        "schema": context.settings.ledger_schema,
        "revision": found.revision if found else None,
        "compatible_from": found.compatible_from if found else None,
        "code": migrate.REVISION,
        "pending": pending,
        "blocked_by": blockers,
    }
    rows = [[each.pid, each.name, each.doing, ago(each.since, now)] for each in blockers]
    blocks: list[Block] = [Paragraph(f"  {each}") for each in pending]
    if rows:
        blocks += [
            Paragraph("A migration would wait for:"),
            Table(("pid", "name", "state", "open since"), rows),
        ]
    context.output.answer(document, _headline(context.settings.ledger_schema, found, pending), *blocks)
    return DONE if not pending else FAILED


def _headline(schema: str, found: migrate.Schema | None, pending: list[str]) -> Paragraph:
    if found is None:
        return Paragraph(
            f"There is no ledger in the schema {schema} yet. `sluice db upgrade` runs:", "yellow"
        )
    if pending:
        return Paragraph(
            f"The ledger in the schema {schema} is at {found.revision}. `sluice db upgrade` runs:", "yellow"
        )
    return Paragraph(
        f"The ledger in the schema {schema} is at {found.revision}; nothing is missing.", "green"
    )
