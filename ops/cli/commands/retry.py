"""``sluice retry``: run a job again that has ended.

It is a submission like any other, so that the job is wanted by somebody and can be cancelled.
"""

import argparse

from jobs.errors import BadRequest
from jobs.states import TERMINAL
from jobs.submission import Submission
from ledger.reads import dossier
from ops.cli.command import Options
from ops.cli.commands.submit import ask
from ops.cli.desk import Desk
from ops.cli.installation import Installation
from ops.cli.naming import job_options, named_job
from ops.words import command


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    parser.add_argument("--downstream", action="store_true", help="and everything after it")
    parser.add_argument("--wait", action="store_true", help="until it has ended")


def run(desk: Desk, options: Options) -> int:
    name = named_job(desk, options.app, options.key)
    installation = Installation(desk)
    job = installation.ask(lambda tx: dossier.job(tx, name))
    if job is None:
        raise BadRequest(f"The ledger has no job {name}.", advice=f"`{command('submit', name)}` asks for it.")
    if job.state not in TERMINAL:
        raise BadRequest(
            f"{name} is {job.state}; only what has ended can be run again.",
            advice=f"`{command('why', name)}` says what it waits for.",
        )
    rerun = Submission(app=name.app, key=name.key, rerun="downstream" if options.downstream else "job")
    return ask(desk, installation, rerun, wait=options.wait)
