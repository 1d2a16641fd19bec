"""``python -m sluice.actors.checkup --queues app1,app2``: whether a worker of this machine is at work.

A container has a host name of its own, so there it is the worker of the container. It is at work while its lease
stands, which it renews by itself and which a process that is stuck loses. 0: it is. 1: it is not, by the ledger. 3: the
ledger does not answer, so nobody can say; whoever would end the worker for that asks with ``--alive``, and gets a 0.
"""

import argparse
import socket
import sys
from collections.abc import Sequence
from contextlib import closing

from sluice.actors.assembly import ledger_address
from sluice.actors.settings import process_settings
from sluice.jobs.errors import BadSetting, SluiceError, Unreachable
from sluice.ledger.connection import Ledger
from sluice.ledger.reads import fleet

#: The exit code of a worker that is not at work.
ABSENT = 1


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    queues = [queue for part in options.queues.split(",") if (queue := part.strip())]
    try:
        settings = process_settings(ledger_url=options.ledger)
        if settings.ledger_url is None:
            raise BadSetting(
                "SLUICE_LEDGER_URL is not set, and an embedded ledger has no workers but its own."
            )
        with ledger_address(settings) as url, closing(Ledger(url, connections=1)) as ledger:
            return _told(ledger.transact(lambda tx: fleet.at_work(tx, socket.gethostname(), queues)))
    except Unreachable as error:
        sys.stderr.write(f"checkup: {error.what}\n")
        return 0 if options.alive else error.exit_code
    except SluiceError as error:
        sys.stderr.write(f"checkup: {error.what}\n")
        return error.exit_code


def _told(at_work: int) -> int:
    if at_work:
        return 0
    sys.stderr.write("checkup: no worker of this machine that serves these queues has a lease that stands.\n")
    return ABSENT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sluice.actors.checkup", description=__doc__)
    parser.add_argument("--queues", default="", help="as the worker was given them; default: every queue")
    parser.add_argument("--alive", action="store_true", help="that nobody can say is no reason to end it")
    parser.add_argument("--ledger", metavar="URL")
    return parser


if __name__ == "__main__":
    sys.exit(main())
