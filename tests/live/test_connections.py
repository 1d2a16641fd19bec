"""Number of connections that a worker holds in its database."""

from pathlib import Path

import psycopg

from sluice.actors.client import Client
from sluice.actors.worker.command import CONNECTIONS_MIN, THREADS_A_CONNECTION
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import jobs
from tests.broker.conftest import until
from tests.live.fleet import fleet, wait_until

THREADS, KEYS = 16, 100
_COUNT = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sluice worker%'"


def test_a_worker_keeps_few_connections_for_many_threads(
    ledger: Ledger, live_ledger_url: str, redis: str, tmp_path: Path
) -> None:
    broker = connect(redis)
    with (
        psycopg.connect(live_ledger_url, autocommit=True) as observer,
        fleet(1, tmp_path, ledger=live_ledger_url, broker=redis, threads=THREADS) as workers,
    ):
        Client(ledger, broker.publish).submit_many([Submission(app="third", key=str(n)) for n in range(KEYS)])
        wait_until(
            lambda: ledger.transact(lambda tx: jobs(tx, State.SUCCEEDED)) == 3 * KEYS,
            within_s=90,
            explain=workers.log,
        )

        def held() -> int:
            return int(observer.execute(_COUNT).fetchall()[0][0])

        until(lambda: 0 < held() <= CONNECTIONS_MIN + THREADS // THREADS_A_CONNECTION)
    broker.close()
