"""Command ``sluice run``: submit, work in this process until the submission has ended, and show the outcome.

With --bypass it runs only the code of the jobs (see ``ops.cli.bypass``).
"""

import argparse
import logging

from msgspec.structs import replace

from sluice.actors.audit_results import about_submission, audited, submitted
from sluice.jobs.observe.log_context import RunReports
from sluice.ops.cli.bypass import bypass
from sluice.ops.cli.command import Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.follow import watch
from sluice.ops.cli.local_worker import threads_option, working
from sluice.ops.cli.submission_options import submission_of, submission_options, wait_timeout_option
from sluice.ops.operations.context import at_command_line
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.submission_checks import check

#: Maximum grace time in seconds for running jobs when the command ends. It is short because a user waits. Jobs that
#: still run are handed back.
GRACE_S = 5.0


def options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    threads_option(parser)
    wait_timeout_option(parser, "work and wait for at most this long")
    parser.add_argument(
        "--logs",
        action="store_true",
        help="show all output while jobs run; default: what functions print, and at the end the output of failed jobs",
    )
    parser.add_argument(
        "--bypass",
        action="store_true",
        help="run only the code of these keys: no ledger, no parents, no retries",
    )


def run(context: CommandContext, options: Options) -> int:
    if options.bypass:
        return bypass(context, options)
    submission = submission_of(options)
    check(context.catalogue, submission)
    # The messages stay in this process: it works on this submission and nothing else waits for it.
    grace_s = min(context.settings.grace_s, GRACE_S)
    settings = replace(
        context.settings,
        broker_url="memory://",
        grace_s=grace_s,
        run_reports=RunReports(logged="failures" if options.verbose else "none", shows_output=options.logs),
    )
    if options.logs:
        # The output has the lines of job.log, so the logger does not repeat them.
        logging.getLogger("sluice.job").setLevel(logging.CRITICAL)
    installation = Installation(context)
    with working(settings, context.definitions, installation.ledger, threads=options.threads) as process:
        noting = audited(at_command_line(), "submit", about_submission(submission), submitted)
        client = process.client.beside(noting)
        id_ = client.submit(submission)
        return watch(context, installation, id_, options.wait_timeout, shows_output=not options.logs)
