"""``python -m sluice.actors.checkup --queues app1,app2``: check whether a worker of this machine is at work.

A container has its own host name, so there this checks the worker of the container. A worker is at work while its lease
is valid; it renews the lease itself, and a stuck process loses it. Exit codes: 0 if a worker is at work, 1 if according
to the ledger none is, 3 if the ledger does not answer. If a failed check ends the worker, use ``--alive``: it returns 0
if the ledger does not answer.
"""

import argparse
import socket
import sys
from collections.abc import Sequence
from contextlib import closing

from sluice.actors.assembly import ledger_address
from sluice.actors.settings.settings import process_settings
from sluice.actors.worker.logs import is_json_log, log_last_words, set_up_logs
from sluice.jobs.errors import BadSetting, SluiceError, Unreachable
from sluice.jobs.observe.outages import muted
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads import fleet

#: Exit code if no worker is at work.
ABSENT = 1


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    queues = [queue for part in options.queues.split(",") if (queue := part.strip())]
    try:
        settings = process_settings(ledger_url=options.ledger)
        set_up_logs(settings.log)
        if settings.ledger_url is None:
            raise BadSetting(
                "SLUICE_LEDGER_URL is not set, and an embedded ledger has no workers but its own."
            )
        with muted(), ledger_address(settings) as url, closing(Ledger(url, connections=1)) as ledger:
            return _told(ledger.transact(lambda tx: fleet.at_work(tx, socket.gethostname(), queues)))
    except SluiceError as error:
        _say(error)
        return 0 if options.alive and isinstance(error, Unreachable) else error.exit_code


def _told(at_work: int) -> int:
    if at_work:
        return 0
    _say(SluiceError("no worker of this machine that serves these queues has a valid lease."))
    return ABSENT


def _say(error: SluiceError) -> None:
    if is_json_log():
        log_last_words("checkup", error)
    else:
        sys.stderr.write(f"checkup: {error.what}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sluice.actors.checkup", description=__doc__)
    parser.add_argument(
        "--queues", default="", help="queues of the worker, as in its --queues; default: every queue"
    )
    parser.add_argument("--alive", action="store_true", help="exit with 0 if the ledger is unreachable")
    parser.add_argument("--ledger", metavar="URL")
    return parser


if __name__ == "__main__":
    sys.exit(main())
