"""Command ``sluice db upgrade``: migrate the ledger to the schema of this version.

It waits for a ledger that does not answer, as a worker does when it starts.
"""

import argparse

from sluice.actors.assembly import ledger_address
from sluice.ledger.schema import migrate
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Table, Verbatim

_FOR_REVIEW = "-- For review only. `sluice db upgrade` runs it, and records each migration.\n"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="list the pending migrations with their kinds of statements, and change nothing",
    )
    parser.add_argument(
        "--sql", action="store_true", help="print the SQL of the pending migrations, and change nothing"
    )


def run(context: CommandContext, options: Options) -> int:
    only_looks = options.dry_run or options.sql
    url = context.keep(ledger_address(context.settings, may_make=not only_looks))
    migrate.wait_for_server(url, context.settings.startup_timeout_s)
    if only_looks:
        return _show(context, url, as_sql=options.sql)
    revision = migrate.upgrade(url)
    context.output.answer({"revision": revision}, Paragraph(f"The ledger is at {revision}.", "green"))
    return DONE


def _show(context: CommandContext, url: str, *, as_sql: bool) -> int:
    from sluice.ledger.schema.preview import preview  # noqa: PLC0415 - Alembic takes longer than an upgrade of nothing

    pending = preview(url)
    rows = [(each.revision, each.title, each.compatible_from, each.summary) for each in pending]
    document = {"pending": pending, "code": migrate.REVISION}
    if not pending:
        context.output.answer(
            document, Paragraph(f"The ledger is at {migrate.REVISION}; nothing is missing.", "green")
        )
    elif as_sql:
        texts = [f"-- {each.revision} {each.title}\n{each.sql}" for each in pending]
        context.output.answer(document, Verbatim("\n".join([_FOR_REVIEW, *texts])))
    else:
        table = Table(("migration", "description", "compatible from", "statements"), rows, prose=True)
        context.output.answer(document, table, Paragraph("Nothing was changed. --sql prints the statements."))
    return DONE
