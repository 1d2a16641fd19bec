"""``sluice autoscale`` with real workers: changing load, a worker that is killed, an autoscaler that is stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads import fleet
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import ROOT, wait_until

APPS = {
    "quick": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "sleep 0.2"},
    "slow": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "touch began; sleep 6; touch ended"},
}
QUEUES = ("--queue", "planner,groomer,scheduler=1..1", "--queue", "quick=0..3", "--queue", "slow=0..1")
_STARTED = """
SELECT count(*) FROM transition JOIN job ON job.id = transition.job WHERE job.app = %(app)s AND target = 'running'
"""


class Scaled:
    """An autoscaler, and the jobs of its workers."""

    def __init__(self, process: subprocess.Popen[str], ledger: Ledger, client: Client, folder: Path) -> None:
        self.process = process
        self.client = client
        self._ledger = ledger
        self._folder = folder

    def submit(self, app: str, first: int, number: int) -> None:
        keys = [str(key) for key in range(first, first + number)]
        self.client.submit_many([Submission(app=app, key=key) for key in keys])

    def workers(self, queue: str) -> list[int]:
        """Return the process ids of the workers of this queue that have a lease."""
        found = self._ledger.transact(fleet.workers)
        here = socket.gethostname()
        return [each.pid for each in found if each.alive and each.host == here and queue in each.queues]

    def states(self, app: str) -> dict[str, int]:
        query = "SELECT state, count(*) FROM job WHERE app = %(app)s GROUP BY state"
        return dict(self._ledger.transact(lambda tx: tx.rows(query, app=app)))

    def starts(self, app: str) -> int:
        return int(self._ledger.transact(lambda tx: tx.column(_STARTED, app=app))[0])

    def log(self) -> str:
        return (self._folder / "log").read_text()

    def waits_for(self, app: str, succeeded: int) -> None:
        wait_until(
            lambda: self.states(app) == {State.SUCCEEDED: succeeded},
            within_s=90,
            explain=lambda: f"{self.states(app)}\n{self.log()[-3000:]}",
        )

    def waits_until_there_are(self, number: int, queue: str) -> None:
        wait_until(
            lambda: len(self.workers(queue)) == number,
            within_s=60,
            explain=lambda: f"{self.workers(queue)}\n{self.log()[-3000:]}",
        )


@contextmanager
def _scaled(ledger: Ledger, folder: Path, broker_url: str, **words: str) -> Iterator[Scaled]:
    (folder / "apps.json").write_text(json.dumps(APPS))
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    environment = {
        "PYTHONPATH": str(ROOT),
        "SLUICE_LEDGER_URL": ledger.url,
        "SLUICE_BROKER_URL": broker_url,
        "SLUICE_APPS": "apps.json",
        "SLUICE_LEASE": "3s",
        "SLUICE_TICK": "200ms",
        "SLUICE_SHUTDOWN_GRACE": "30s",
    }
    command = [sys.executable, "-m", "sluice.ops.cli.main", "autoscale", *QUEUES, "--threads", "1"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--cool-down", "2s", "--every", "500ms"],
            cwd=folder,
            env=outer | environment | words,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    broker = connect(broker_url)
    try:
        yield Scaled(process, ledger, Client(ledger, broker.publish), folder)
    finally:
        broker.close()
        _end_all(process)


def _end_all(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for each in below:
            if each.is_running():
                each.kill()
        psutil.wait_procs(below, timeout=20)
    process.wait()


@pytest.fixture
def scaled(ledger: Ledger, folder: Path, rabbitmq: str) -> Iterator[Scaled]:
    with _scaled(ledger, folder, rabbitmq) as made:
        yield made


def test_the_number_of_workers_follows_the_load_and_no_job_is_lost(scaled: Scaled, ledger: Ledger) -> None:
    scaled.waits_until_there_are(1, "planner")
    assert scaled.workers("quick") == []
    scaled.submit("quick", 0, 60)
    scaled.waits_until_there_are(3, "quick")
    scaled.waits_for("quick", 60)
    scaled.waits_until_there_are(0, "quick")
    assert scaled.starts("quick") == 60

    # The next wave finds no worker, loses one, and is completed all the same.
    scaled.submit("quick", 60, 60)
    scaled.waits_until_there_are(3, "quick")
    os.kill(scaled.workers("quick")[0], signal.SIGKILL)
    scaled.waits_for("quick", 120)
    scaled.waits_until_there_are(0, "quick")
    assert "ended by itself" in scaled.log()
    assert ledger.transact(breaches) == []

    scaled.process.terminate()
    assert scaled.process.wait(timeout=60) == 0
    assert scaled.workers("planner") == []


def test_an_autoscaler_that_gets_sigterm_waits_for_running_jobs(scaled: Scaled, folder: Path) -> None:
    scaled.submit("slow", 0, 1)
    wait_until((folder / "began").exists, within_s=60, explain=scaled.log)
    scaled.process.terminate()
    assert scaled.process.wait(timeout=60) == 0
    assert (folder / "ended").exists()
    assert scaled.starts("slow") == 1


def test_an_autoscaler_that_gets_sigterm_twice_kills_running_jobs(scaled: Scaled, folder: Path) -> None:
    scaled.submit("slow", 0, 1)
    wait_until((folder / "began").exists, within_s=60, explain=scaled.log)
    below = psutil.Process(scaled.process.pid).children(recursive=True)
    scaled.process.terminate()
    wait_until(lambda: "All workers are stopping" in scaled.log(), within_s=20)
    scaled.process.terminate()
    assert scaled.process.wait(timeout=20) == 130
    assert not (folder / "ended").exists()
    _, alive = psutil.wait_procs(below, timeout=20)
    assert alive == []


def test_the_workers_of_a_killed_autoscaler_finish_their_jobs_and_exit(scaled: Scaled, folder: Path) -> None:
    scaled.submit("slow", 0, 1)
    wait_until((folder / "began").exists, within_s=60, explain=scaled.log)
    workers = psutil.Process(scaled.process.pid).children()
    scaled.process.kill()
    scaled.process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    assert (folder / "ended").exists()
