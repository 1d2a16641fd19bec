"""Number of connections that a worker holds in its database, and of its threads."""

import json
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

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
APPS, THREADS_MAX = 200, 20
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

        # The worker leads, so it also has a connection that listens for submissions by SQL.
        until(lambda: 0 < held() <= CONNECTIONS_MIN + THREADS // THREADS_A_CONNECTION + 1)
    broker.close()


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the threads of another process cannot be counted"
)
def test_a_worker_of_many_apps_has_few_threads(
    ledger: Ledger, live_ledger_url: str, redis: str, tmp_path: Path
) -> None:
    apps = {f"app{number}": {"job_id": "{x}", "bash_cmd": "true"} for number in range(APPS)}
    (tmp_path / "apps.json").write_text(json.dumps(apps))
    control, workers = tmp_path / "control", tmp_path / "workers"
    control.mkdir()
    workers.mkdir()
    words = {"ledger": live_ledger_url, "broker": redis, "apps": str(tmp_path / "apps.json")}
    broker = connect(redis)
    with (
        fleet(1, control, queues="planner,groomer,scheduler", **words) as planner,
        fleet(1, workers, queues="*", **words) as serving,
    ):
        Client(ledger, broker.publish).submit_many([Submission(app=app, key="1") for app in list(apps)[::10]])
        wait_until(
            lambda: ledger.transact(lambda tx: jobs(tx, State.SUCCEEDED)) == APPS // 10,
            within_s=90,
            explain=lambda: planner.log() + serving.log(),
        )
        first = psutil.Process(serving.first_processes()[0])
        counts = [each.num_threads() for each in first.children(recursive=True)]
        assert 0 < max(counts) <= THREADS_MAX
    broker.close()
