"""Coroutine functions in a process: many at once, cancelled, timed out, and handed over at its end."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.process import Process
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ledger.recovery.invariants import breaches
from tests.jobs.runners.runner_bench import eventually

AT_ONCE = 150
APPS = f"""
import asyncio
import threading
import time
from pathlib import Path
from sluice import Fatal, Job, app, each

begun = set()
threads = set()

@app
async def meet(n: int = each(range({AT_ONCE}))) -> None:
    # Ends when all have begun: they have to run at the same time.
    begun.add(n)
    threads.add(threading.get_ident())
    while len(begun) < {AT_ONCE}:
        await asyncio.sleep(0.01)

@app(timeout="200ms")
async def slow(job: Job) -> None:
    job.log.info("waiting")
    await asyncio.sleep(600)

@app
async def endless(job: Job, place: str) -> None:
    Path(place).write_text("begun")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        Path(place).write_text(f"cancelled {{job.cancelled}}")
        raise

@app(max_fails=3)
async def broken() -> None:
    raise Fatal("no use")

@app
async def books(job: Job) -> None:
    with job.transaction() as connection:
        connection.execute("select 1")
    job.log.info("after the commit")

@app(breaker={{"fails": 2, "pause": "1h"}})
async def fails(n: int) -> None:
    raise LookupError(n)

@app
def plain(n: int) -> None: ...

@app
def looping(job: Job, place: str) -> None:
    Path(place).write_text("begun")
    while not job.cancelled:
        time.sleep(0.01)
    Path(place).write_text("cancelled True")
"""


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    ledger = Ledger(ledger_url)
    ledger.transact(empty)
    yield ledger
    assert ledger.transact(breaches) == []
    ledger.close()


@contextmanager
def _working(
    ledger: Ledger, tmp_path: Path, *, coroutines: int = 2 * AT_ONCE, grace_s: float = 5.0
) -> Iterator[Process]:
    source = tmp_path / "coroutine_jobs.py"
    source.write_text(dedent(APPS))
    settings = Settings(apps=(str(source),), tick_s=0.1, lease_s=60.0, grace_s=grace_s)
    broker = connect("memory://")
    process = Process(settings, Definitions(settings), ledger, broker, threads=1)
    process.start(coroutines=coroutines)
    try:
        yield process
    finally:
        process.stop()
        broker.close()


def _state(ledger: Ledger, app: str) -> str:
    return str(ledger.transact(lambda tx: tx.column("SELECT state FROM job WHERE app = %(app)s", app=app)[0]))


def _run(process: Process, app: str, key: str | None = None) -> SubmissionState:
    return process.client.wait(process.client.submit(Submission(app=app, key=key)), timeout_s=30).state


def test_many_coroutines_run_at_the_same_time_in_one_thread(ledger: Ledger, tmp_path: Path) -> None:
    with _working(ledger, tmp_path) as process:
        # The last thread of the process starts when it leads.
        eventually(lambda: any("sluice_submissions" in thread.name for thread in threading.enumerate()))
        before = threading.active_count()
        assert _run(process, "meet") is SubmissionState.SUCCEEDED
        # Those of the event loop, of the recording, and of the waiting client.
        assert threading.active_count() <= before + 3
    counts = ledger.transact(lambda tx: tx.rows("SELECT state, count(*) FROM job GROUP BY 1"))
    assert [tuple(row) for row in counts] == [(State.SUCCEEDED, AT_ONCE)]


def test_no_more_than_the_limit_run_at_the_same_time(ledger: Ledger, tmp_path: Path) -> None:
    with _working(ledger, tmp_path, coroutines=10) as process:
        id_ = process.client.submit(Submission(app="meet"))
        eventually(lambda: _running(ledger) == 10)
        assert _run(process, "plain", "1") is SubmissionState.SUCCEEDED  # Threads are not kept waiting.
        assert _running(ledger) == 10
        process.client.cancel(id_)


def _running(ledger: Ledger) -> int:
    return int(ledger.transact(lambda tx: tx.column("SELECT count(*) FROM job WHERE state = 'running'")[0]))


def test_a_coroutine_over_its_timeout_is_cancelled(ledger: Ledger, tmp_path: Path) -> None:
    with _working(ledger, tmp_path) as process:
        assert _run(process, "slow") is SubmissionState.FAILED
        assert _state(ledger, "slow") == State.TIMED_OUT


@pytest.mark.parametrize("app", ["endless", "looping"])
def test_the_code_of_a_cancelled_job_notices_it_long_before_the_next_heartbeat(
    ledger: Ledger, tmp_path: Path, app: str
) -> None:
    place = tmp_path / "place"
    with _working(ledger, tmp_path) as process:
        id_ = process.client.submit(Submission(app=app, key=str(place)))
        eventually(lambda: place.exists() and place.read_text() == "begun")
        process.client.cancel(id_)
        eventually(lambda: place.read_text() == "cancelled True")


def test_a_stopping_process_hands_its_coroutines_back(ledger: Ledger, tmp_path: Path) -> None:
    place = tmp_path / "place"
    with _working(ledger, tmp_path, grace_s=5.2) as process:
        process.client.submit(Submission(app="endless", key=str(place)))
        eventually(lambda: place.exists() and place.read_text() == "begun")
    assert place.read_text() == "cancelled True"
    assert _state(ledger, "endless") == State.READY


def test_a_fatal_error_fails_the_job_at_once(ledger: Ledger, tmp_path: Path) -> None:
    with _working(ledger, tmp_path) as process:
        assert _run(process, "broken") is SubmissionState.FAILED
    row = ledger.transact(lambda tx: tx.rows("SELECT state, fails FROM job"))
    assert [tuple(each) for each in row] == [(State.FAILED, 1)]


def test_a_transaction_commits_the_success_and_keeps_the_output(ledger: Ledger, tmp_path: Path) -> None:
    with _working(ledger, tmp_path) as process:
        assert _run(process, "books") is SubmissionState.SUCCEEDED
        eventually(lambda: "after the commit" in json.dumps(_outputs(ledger)))


def _outputs(ledger: Ledger) -> list[str]:
    return [str(each) for each in ledger.transact(lambda tx: tx.column("SELECT output FROM round"))]


def test_failures_of_coroutines_open_the_breaker_of_their_app(ledger: Ledger, tmp_path: Path) -> None:
    with _working(ledger, tmp_path) as process:
        process.client.submit(Submission(app="fails", keys=("1", "2", "3")))
        eventually(lambda: _count(ledger, "app_pause") == 1)


def _count(ledger: Ledger, table: str) -> int:
    return int(ledger.transact(lambda tx: tx.column(f"SELECT count(*) FROM {table}")[0]))
