"""Workers that lose the network to the ledger and to the broker.

``python -m tests.live.parted BROKER FOLDER`` runs in a network of its own. It exits with 0 if all work is done after
the network is back.
"""

import sys
from contextlib import closing
from pathlib import Path

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until
from tests.network import carry, ledger_on_it
from tests.private_servers import SERVERS

KEYS = 300


def main(broker: str, folder: Path) -> None:
    carry(True)
    with (
        ledger_on_it(folder / "home") as urls,
        closing(Ledger(urls.near)) as ledger,
        SERVERS[broker]() as server,
        closing(connect(server.url)) as sender,
        fleet(2, folder, ledger=urls.far, broker=server.url) as workers,
    ):
        Client(ledger, sender.publish).submit_many([Submission(app="third", key=str(n)) for n in range(KEYS)])
        _await_done(ledger, workers, KEYS)
        carry(False)
        wait_until(lambda: workers.log().count("is unreachable") >= 2, within_s=90, explain=workers.log)
        carry(True)
        _await_done(ledger, workers, 3 * KEYS)
        assert ledger.transact(breaches) == []


def _await_done(ledger: Ledger, workers: Fleet, jobs: int) -> None:
    def is_done() -> bool:
        return ledger.transact(lambda tx: fixtures.jobs(tx, State.SUCCEEDED)) >= jobs

    wait_until(is_done, within_s=120, explain=lambda: workers.log()[-3000:])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
