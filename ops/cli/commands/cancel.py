"""``sluice cancel``: stop a submission with what nobody else wants, or one job whoever wants it."""

import argparse

from jobs.errors import BadRequest
from jobs.ref import JobName
from jobs.states import LIVE
from ledger.reads import dossier, flights
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
        stopped = len(installation.client.cancel(options.target))
        undone = installation.ask(lambda tx: flights.called_off(tx, options.target))
        what = f"Submission {options.target} is cancelled"
    else:
        name, unknown = meant_job(desk, installation, options.target, options.key)
        stopped = len(installation.client.cancel_job(name))
        undone = 0 if stopped else _called_off(installation, name)
        if not stopped and not undone:
            raise unknown or BadRequest(
                f"{name} has nothing left to cancel.", advice=f"`{command('why', name)}` says more."
            )
        what = f"{name} is cancelled"
    told = f"{what}; {stopped} {'job stops' if stopped == 1 else 'jobs stop'}"
    if undone:
        told += f", and {'1 saga is' if undone == 1 else f'{undone} sagas are'} undone first"
    first = {"undone_first": undone} if undone else {}
    desk.output.answer({"cancelled": stopped, **first}, Line(f"{told}."))
    return DONE


def _called_off(installation: Installation, name: JobName) -> int:
    """A saga that has begun is cancelled when it is undone."""
    job = installation.ask(lambda tx: dossier.job(tx, name))
    return int(job is not None and job.turn_back is not None and job.state in LIVE)
