"""One process that does everything, on the in-process broker."""

import time
from collections.abc import Iterator

import pytest

from actors.definitions import Definitions
from actors.process import Process
from actors.settings import Settings
from broker.connect import connect
from jobs.states import State
from jobs.submission import Submission, SubmissionState
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.world import empty

SETTINGS = Settings(apps=("jobs.examples.shops",), tick_s=0.1, lease_s=3.0, grace_s=5.0)


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


def test_the_example_runs_with_its_retry_its_pull_and_its_push(process: Process, ledger_url: str) -> None:
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


def test_cancelling_a_submission_stops_what_runs(process: Process) -> None:
    id_ = process.client.submit(Submission(app="report", key="20261121"))
    deadline = time.monotonic() + 10
    while not process.client.cancel(id_) and time.monotonic() < deadline:
        id_ = process.client.submit(Submission(app="report", key="20261122"))
    assert process.client.wait(id_, timeout_s=10).state is SubmissionState.CANCELLED
