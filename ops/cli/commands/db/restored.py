"""Command ``sluice db restored``: prepare a ledger that was restored from a backup. Run it before any worker starts.

No number of a claim, a job, a submission or a task that was given out after the backup is given out again. Ready jobs
are announced if a broker is configured.
"""

import argparse

from sluice.actors.audit_results import restored
from sluice.actors.groomer import redispatch
from sluice.jobs.errors import LedgerBusy
from sluice.ledger import installation as identity
from sluice.ledger.recovery import restoration
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import yes_option
from sluice.ops.cli.page import Paragraph
from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    yes_option(parser)
    parser.add_argument(
        "--copy",
        action="store_true",
        help="the ledger is a copy beside its original: give it a new identity, so that the broker is not shared",
    )


def run(context: CommandContext, options: Options) -> int:
    context.confirm("Was a backup of this ledger restored?", is_confirmed=options.yes)
    installation = Installation(context)
    ledger = installation.ledger_doing("db restored", {"copy": options.copy}, restored)
    above = ledger.transact(restoration.restore)
    if above is None:
        raise LedgerBusy(
            "Workers hold leases that have not ended; nothing was changed.",
            advice="Stop all workers. The leases of workers that ran at the time of the backup end by themselves.",
        )
    if options.copy:
        installation.ledger.transact(identity.renew)
    publish = installation.broker.publish if installation.shares_a_broker else None
    announced = redispatch.announce_everything(installation.ledger, publish) if publish else 0
    context.output.answer(
        {"above": above, "announced": announced},
        Paragraph(f"All new numbers are above {above}. Start the workers.", "green"),
    )
    return DONE
