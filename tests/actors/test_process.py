"""A single process that does everything, on the broker in memory."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.process import Process
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ledger.reads.schedule_states import recent
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.stats.event_counters import CounterName, happened
from tests.jobs.runners.runner_bench import eventually

SETTINGS = Settings(apps=("sluice.jobs.examples.shops",), tick_s=0.1, lease_s=3.0, grace_s=5.0)


@pytest.fixture
def process(ledger_url: str) -> Iterator[Process]:
    ledger = Ledger(ledger_url)
    ledger.transact(empty)
    broker = connect("memory://")
    made = Process(SETTINGS, Definitions(SETTINGS), ledger, broker, threads=4)
    made.start()
    yield made
    made.stop()
    assert ledger.transact(breaches) == []
    broker.close()
    ledger.close()


def test_the_shops_example_runs_with_its_retry_pull_and_push(process: Process, ledger_url: str) -> None:
    id_ = process.client.submit(Submission(app="report", key="20261120"))
    assert process.client.wait(id_, timeout_s=30).state is SubmissionState.SUCCEEDED
    ledger = Ledger(ledger_url)
    states = ledger.transact(
        lambda tx: tx.rows("SELECT app, state, count(*), sum(fails) FROM job GROUP BY 1, 2")
    )
    ledger.close()
    assert sorted((app, state, count) for app, state, count, _ in states) == [
        ("clean", State.SUCCEEDED, 6),
        ("fetch", State.SUCCEEDED, 6),
        ("publish", State.SUCCEEDED, 1),
        ("report", State.SUCCEEDED, 1),
    ]
    assert sum(fails for *_, fails in states) == 1


def test_cancelling_a_submission_ends_its_jobs(process: Process) -> None:
    id_ = process.client.submit(Submission(app="report", key="20261121"))
    deadline = time.monotonic() + 10
    while not process.client.cancel(id_) and time.monotonic() < deadline:
        id_ = process.client.submit(Submission(app="report", key="20261122"))
    assert process.client.wait(id_, timeout_s=10).state is SubmissionState.CANCELLED


def test_an_output_that_cannot_be_stored_is_counted(ledger_url: str, tmp_path: Path) -> None:
    source = tmp_path / "apps.json"
    loud = {"job_id": "{x}", "bash_cmd": "yes 0123456789 | head -c 100000", "keep_output": True}
    source.write_text(json.dumps({"loud": loud}))
    settings = replace(SETTINGS, apps=(str(source),), blobs_url="nosuch://bucket")
    with closing(Ledger(ledger_url)) as ledger, closing(connect("memory://")) as broker:
        ledger.transact(empty)
        made = Process(settings, Definitions(settings), ledger, broker, threads=1)
        made.start()
        id_ = made.client.submit(Submission(app="loud", key="1"))
        assert made.client.wait(id_, timeout_s=30).state is SubmissionState.SUCCEEDED
        made.stop()
        assert ledger.transact(happened)[CounterName.BLOB_LOST, ""] == 1


def test_a_process_has_a_health_file_until_it_stops(ledger_url: str, tmp_path: Path) -> None:
    file = tmp_path / "health"
    settings = replace(SETTINGS, health_path=file)
    with closing(Ledger(ledger_url)) as ledger, closing(connect("memory://")) as broker:
        ledger.transact(empty)
        made = Process(settings, Definitions(settings), ledger, broker, threads=1)
        assert not file.exists()
        made.start()
        assert json.loads(file.read_bytes())["ready"] is True
        made.stop()
    assert not file.exists()


def test_a_process_that_serves_the_schedulers_queue_fires_due_times(ledger_url: str, tmp_path: Path) -> None:
    often = {"app": "a", "key": "{due:%H%M%S}", "every": "1s"}
    source = tmp_path / "apps.json"
    source.write_text(json.dumps({"a": {"job_id": "{x}", "bash_cmd": "true"}, "schedules": {"often": often}}))
    settings = Settings(apps=(str(source),), tick_s=0.1, lease_s=3.0, grace_s=5.0)
    ledger = Ledger(ledger_url)
    ledger.transact(empty)
    broker = connect("memory://")
    made = Process(
        settings, Definitions(settings), ledger, broker, queues=["scheduler", "planner", "a"], threads=1
    )
    made.start()
    try:
        deadline = time.monotonic() + 20
        while not (firings := ledger.transact(lambda tx: recent(tx, "often", 10))):
            assert time.monotonic() < deadline, "nothing was fired"
            time.sleep(0.05)
        (submission,) = {str(firing.submission) for firing in firings[-1:]}
        assert made.client.wait(submission, timeout_s=20).state is SubmissionState.SUCCEEDED
    finally:
        made.stop()
        broker.close()
    assert ledger.transact(breaches) == []
    ledger.close()


def test_a_stopping_process_logs_its_runs_and_the_jobs_it_hands_back(
    ledger_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sluice.process")
    begun, source = tmp_path / "begun", tmp_path / "apps.json"
    command = f"touch {begun}; sleep 600"
    source.write_text(json.dumps({"long": {"job_id": "{x}", "bash_cmd": command}}))
    settings = Settings(apps=(str(source),), tick_s=0.1, grace_s=5.0)
    ledger = Ledger(ledger_url)
    ledger.transact(empty)
    broker = connect("memory://")
    made = Process(settings, Definitions(settings), ledger, broker, threads=1)
    made.start()
    try:
        made.client.submit(Submission(app="long", key="1"))
        eventually(begun.exists)
    finally:
        made.stop()
        broker.close()
    told = [record.getMessage() for record in caplog.records if record.name == "sluice.process"]
    start = told.pop(0)
    assert start.startswith("worker of Sluice ")
    for fact in (
        "queues planner, groomer, scheduler, long; 1 thread, up to 100 coroutines; 1 app, definitions ",
        "; lease 15 s; ledger postgresql://",
        ", schema sluice; broker memory://",
    ):
        assert fact in start
    assert told == [
        "stopping: 1 run is in progress, with up to 5 s to end",
        "stopped: 1 job was handed back: long/1",
    ]
    assert ledger.transact(breaches) == []
    ledger.close()


def test_a_process_starts_its_hooks_before_its_first_run_and_stops_them_after_its_last(
    ledger_url: str, tmp_path: Path
) -> None:
    noted, source = tmp_path / "noted", tmp_path / "hooked_jobs.py"
    source.write_text(
        f"""
from contextlib import contextmanager
from sluice import Hooks, app

def note(text):
    with open({str(noted)!r}, "a") as file:
        file.write(text + "\\n")

class Noting(Hooks):
    def __init__(self, name):
        self.name = name
    def worker_started(self):
        note(f"{{self.name}} started")
    def worker_stopping(self):
        note(f"{{self.name}} stopping")
    @contextmanager
    def around(self, job):
        note(f"{{self.name}} before")
        yield
        note(f"{{self.name}} after")

hooks = Noting("own")

@app
def f():
    note("runs")
"""
    )
    everywhere = tmp_path / "everywhere.py"
    everywhere.write_text(
        source.read_text().replace('"own"', '"all"').replace("@app", "").replace("def f", "def g")
    )
    settings = Settings(apps=(str(source),), hooks=f"{everywhere}:hooks", tick_s=0.1, grace_s=5.0)
    ledger = Ledger(ledger_url)
    ledger.transact(empty)
    broker = connect("memory://")
    made = Process(settings, Definitions(settings), ledger, broker, threads=1)
    made.start()
    try:
        assert noted.read_text().splitlines() == ["all started", "own started"]
        submitted = made.client.submit(Submission(app="f", key=""))
        assert made.client.wait(submitted, timeout_s=20).state is SubmissionState.SUCCEEDED
    finally:
        made.stop()
        broker.close()
    assert noted.read_text().splitlines()[2:] == [
        *("all before", "own before", "runs", "own after", "all after"),
        *("own stopping", "all stopping"),
    ]
    ledger.close()
