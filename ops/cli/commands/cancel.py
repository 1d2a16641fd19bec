"""``sluice cancel``: stop a submission with what nobody else wants, or one job whoever wants it."""

import argparse

from jobs.errors import BadRequest
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.meant import meant_job
from ops.cli.page import Line
from ops.words import command


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="SUBMISSION | APP", help="a submission's id, or an app")
    parser.add_argument("key", nargs="?", metavar="KEY", help="with an app: the one job to stop")


def run(desk: Desk, options: Options) -> int:
    installation = Installation(desk)
    if options.key is None:
        stopped = installation.client.cancel(options.target)
        what = f"Submission {options.target} is cancelled"
    else:
        name, unknown = meant_job(desk, installation, options.target, options.key)
        stopped = installation.client.cancel_job(name)
        if not stopped:
            raise unknown or BadRequest(
                f"{name} has nothing left to cancel.", advice=f"`{command('why', name)}` says more."
            )
        what = f"{name} is cancelled"
    plural = "job stops" if len(stopped) == 1 else "jobs stop"
    desk.output.answer({"cancelled": len(stopped)}, Line(f"{what}; {len(stopped)} {plural}."))
    return DONE
