"""SIGKILL of a worker's first process. Nothing that it started survives."""

import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.broker.consumer.supervisor import PARENT_CHECK_S
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger
from tests.live.fleet import fleet, wait_until

#: Worker processes notice within ``PARENT_CHECK_S`` that their parent is dead. Their guards then kill the jobs.
GONE_S = 8 * PARENT_CHECK_S


@pytest.mark.timeout(120)
def test_worker_processes_and_jobs_end_with_the_first_process_of_a_worker(
    ledger: Ledger, live_ledger_url: str, redis: str, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    apps = tmp_path / "apps.json"
    command = f"trap '' TERM HUP INT; sleep 600 & echo $$ $! >> {begun}; wait"
    apps.write_text(json.dumps({"long": {"job_id": "{x}", "bash_cmd": command}}))
    broker = connect(redis)
    with fleet(1, tmp_path, ledger=live_ledger_url, broker=redis, apps=str(apps)) as workers:
        Client(ledger, broker.publish).submit(Submission(app="long", key="1"))
        wait_until(lambda: begun.exists() and begun.read_text().split(), within_s=60, explain=workers.log)
        first = psutil.Process(workers.first_processes()[0])
        started = first.children(recursive=True)
        assert {int(pid) for pid in begun.read_text().split()} < {each.pid for each in started}
        os.kill(first.pid, signal.SIGKILL)
        _, left = psutil.wait_procs(started, timeout=GONE_S)
        assert left == []
    broker.close()
