"""Clients that wait for the ends of submissions and jobs."""

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from socket import socketpair

import psycopg
import pytest

from sluice import AsyncClient, Client, JobFailed, JobRequest, Submission
from sluice.actors import end_listener
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.process import Process
from sluice.broker.connect import connect as connect_broker
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.jobs.text.server_address import named
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ledger.lifecycle import submissions
from sluice.ledger.recovery.invariants import breaches
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

_LISTENERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND (query = 'LISTEN sluice_ends' OR query LIKE '%submission.awaited, submission.reason%')"
)
_CUT = f"SELECT pg_terminate_backend(pid) FROM ({_LISTENERS}) listener"
_MARKED = "SELECT id FROM submission WHERE awaited ORDER BY number"
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results.md").read_text()
WITHIN_S = 20.0
#: Age of a submission that can be marked although it is not planned.
OLD = timedelta(seconds=2)


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    """Yield a client whose ledger has connections of its own."""
    with (
        closing(Ledger(world.url, clock=lambda: world.now)) as ledger,
        closing(Client(ledger, world.queue.extend)) as made,
    ):
        yield made


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


def marked(world: World) -> list[str]:
    return world.ledger.transact(lambda tx: tx.column(_MARKED))


def waits_for(world: World, *submissions: str) -> None:
    """Wait until a client waits for these submissions."""
    eventually(lambda: set(marked(world)) == {*submissions})


def test_a_call_is_woken_by_the_end_of_its_submission(
    world: World, client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_listener, "CHECK_S", 3600.0)
    world.apps("a")
    world.submit("a", id="s")
    waiting = pool.submit(client.wait, "s", timeout_s=WITHIN_S)
    waits_for(world, "s")
    world.finish("a")
    assert waiting.result().state is SubmissionState.SUCCEEDED
    assert client.wait("s", timeout_s=WITHIN_S).state is SubmissionState.SUCCEEDED


@pytest.mark.parametrize("end", ["cancel", "refuse"])
def test_a_call_is_woken_by_every_way_to_end_a_submission(
    world: World, client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(end_listener, "CHECK_S", 3600.0)
    world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    client.submit(Submission(app="a", key="1" if end == "cancel" else "x", id="s"))
    world.now += OLD
    waiting = pool.submit(client.wait, "s", timeout_s=WITHIN_S)
    waits_for(world, "s")
    if end == "cancel":
        world.cancel("s")
    world.deliver()
    expected = SubmissionState.CANCELLED if end == "cancel" else SubmissionState.REFUSED
    assert waiting.result().state is expected


def test_nothing_is_notified_unless_a_client_waits(world: World, client: Client) -> None:
    world.apps("a")
    ending, interrupter = socketpair()
    with ending, interrupter, notify.listening(world.url, notify.ENDS) as listener:
        world.submit("a", "1", id="quiet")
        world.finish("a/1")
        world.submit("a", "2", id="loud")
        with pytest.raises(TimeoutError, match=r"Submission loud is still active."):
            client.wait("loud", timeout_s=0.2)
        world.finish("a/2")
        found = listener.words(interrupter, WITHIN_S)
        number = world.ledger.transact(
            lambda tx: tx.column("SELECT number FROM submission WHERE id = 'loud'")
        )
        assert found == [str(number[0])]


def test_a_marked_submission_is_notified_when_it_is_planned_only_if_its_job_has_ended(
    world: World, client: Client
) -> None:
    """Its client waits for that job, and another job keeps the submission open."""
    world.apps("a -> b")
    world.submit("a", "2", push="wanted")
    world.finish("a/2")
    first, second = (Submission(app="a", key=key, id=key) for key in "12")
    ending, interrupter = socketpair()
    with ending, interrupter, notify.listening(world.url, notify.ENDS) as listener:
        numbers = []
        for wanted in (first, second):
            world.ledger.transact(partial(submissions.receive, submissions=[wanted], awaited=True))
            client.have_planned([wanted.require_id()])
            world.deliver()
            numbers += world.ledger.transact(
                lambda tx, id=wanted.id: tx.column("SELECT number FROM submission WHERE id = %(id)s", id=id)
            )
        assert world.submission("2") is not SubmissionState.RECEIVED
        assert listener.words(interrupter, WITHIN_S) == [str(numbers[1])]
        world.finish("a/1")
        assert listener.words(interrupter, WITHIN_S) == [str(numbers[0])]


def test_a_call_for_a_submission_that_does_not_exist_is_refused(client: Client) -> None:
    with pytest.raises(BadRequest, match=r"There is no submission nothing."):
        client.wait("nothing", timeout_s=WITHIN_S)


def test_a_call_is_woken_although_its_connection_was_cut(
    world: World, client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission ends while the client cannot hear it."""
    monkeypatch.setattr(end_listener, "CHECK_S", 3600.0)
    world.apps("a")
    world.submit("a", id="s")
    waiting = pool.submit(client.wait, "s", timeout_s=WITHIN_S)
    waits_for(world, "s")
    eventually(lambda: world.ledger.transact(lambda tx: tx.column(_CUT)) == [True])
    world.finish("a")
    assert waiting.result().state is SubmissionState.SUCCEEDED


def test_a_lost_notification_delays_an_end_to_the_next_check(
    world: World, client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_listener, "CHECK_S", 0.3)
    world.apps("a")
    world.submit("a", id="s")
    waiting = pool.submit(client.wait, "s", timeout_s=WITHIN_S)
    waits_for(world, "s")
    world.ledger.transact(lambda tx: tx.write("UPDATE submission SET awaited = false"))
    world.finish("a")
    assert waiting.result().state is SubmissionState.SUCCEEDED


def test_a_locked_submission_delays_no_other_call(
    world: World, client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_listener, "CHECK_S", 3600.0)
    world.apps("a")
    for key in "12":
        world.submit("a", key, id=key)
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT FROM sluice.submission WHERE id = '1' FOR UPDATE")
        locked = pool.submit(client.wait, "1", timeout_s=WITHIN_S)
        free = pool.submit(client.wait, "2", timeout_s=WITHIN_S)
        waits_for(world, "2")
        world.finish("a/2")
        assert free.result().state is SubmissionState.SUCCEEDED
        assert not locked.done()
    waits_for(world, "1", "2")
    world.finish("a/1")
    assert locked.result().state is SubmissionState.SUCCEEDED


def test_foreign_payloads_are_ignored(world: World, client: Client, pool: ThreadPoolExecutor) -> None:
    world.apps("a")
    world.submit("a", id="s")
    waiting = pool.submit(client.wait, "s", timeout_s=WITHIN_S)
    waits_for(world, "s")
    for word in ("", "nonsense", "9" * 30, "1"):
        world.ledger.transact(lambda tx, word=word: tx.rows(f"SELECT pg_notify('{notify.ENDS}', '{word}')"))
    world.finish("a")
    assert waiting.result().state is SubmissionState.SUCCEEDED


def test_a_client_that_is_closed_cancels_its_calls(world: World, pool: ThreadPoolExecutor) -> None:
    world.apps("a")
    world.submit("a", id="s")
    with closing(Ledger(world.url)) as ledger:
        client = Client(ledger, world.queue.extend)
        waiting = pool.submit(client.wait, "s")
        waits_for(world, "s")
        client.close()
        with pytest.raises(BaseException, match=r"^$") as told:
            waiting.result(WITHIN_S)
        assert type(told.value).__name__ == "CancelledError"
        with pytest.raises(BadRequest, match="The client is closed"):
            client.wait("s")
    eventually(lambda: world.ledger.transact(lambda tx: tx.column(_LISTENERS)) == [])


def test_a_handle_has_the_result_when_its_job_has_ended(
    world: World, client: Client, pool: ThreadPoolExecutor
) -> None:
    """The submission is still active then, because it also has the job's child."""
    world.apps("a -> b")
    handle = client.submit(JobRequest(app="a", key="1", decode=set[int]))
    world.deliver()
    waiting = pool.submit(handle.result, WITHIN_S)
    waits_for(world, handle.id)
    assert handle.status().state is State.READY
    world.record(world.take("a"), result_json="[1,2]")
    assert waiting.result() == {1, 2}
    assert world.submission(handle.id) is SubmissionState.ACTIVE
    assert (handle.app, handle.key, repr(handle)) == ("a", "1", "<handle of a/1>")
    assert handle.wait(WITHIN_S).state is State.SUCCEEDED


def test_a_client_that_has_waited_marks_the_jobs_that_it_submits(
    world: World, client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So only a notification wakes the call, however soon the job ends. The ids of others are not marked."""
    monkeypatch.setattr(end_listener, "CHECK_S", 3600.0)
    world.apps("a")
    first = client.submit(JobRequest(app="a", key="1"))
    assert marked(world) == []
    world.deliver()
    world.record(world.take("a"))
    assert first.result(WITHIN_S) is None
    client.submit(Submission(app="a", key="3", id="s"))
    second = client.submit(JobRequest(app="a", key="2"))
    assert marked(world) == [second.id]
    waiting = pool.submit(second.result, WITHIN_S)
    world.deliver()
    world.record(world.take("a/2"), result_json="2")
    assert waiting.result() == 2


def test_a_handle_of_a_job_that_has_succeeded_before_has_its_result_at_once(
    world: World, client: Client
) -> None:
    world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    world.submit("a", "7")
    world.record(world.take("a/7"), result_json="1")
    handle = client.submit(JobRequest(app="a", key="007"))
    world.deliver()
    assert handle.result(WITHIN_S) == 1


def test_a_handle_ignores_the_outcome_of_an_earlier_submission(
    world: World, client: Client, pool: ThreadPoolExecutor
) -> None:
    world.apps("a")
    world.cancel(world.submit("a"))
    handle = client.submit(JobRequest(app="a", key="1"))
    world.now += OLD
    waiting = pool.submit(handle.result, WITHIN_S)
    waits_for(world, handle.id)
    world.deliver()
    world.record(world.take("a"), result_json='"second"')
    assert waiting.result() == "second"


def test_a_handle_of_a_failed_job_raises_its_error(world: World, client: Client) -> None:
    world.apps("a -> b")
    failed, starved = (client.submit(JobRequest(app=app, key="1")) for app in "ab")
    world.deliver()
    world.finish("a", "error")
    with pytest.raises(JobFailed, match=r"^a/1 is failed: it broke$") as told:
        failed.result(WITHIN_S)
    assert (told.value.app, told.value.key, told.value.state, told.value.error) == (
        "a",
        "1",
        "failed",
        "it broke",
    )
    with pytest.raises(JobFailed, match=r"^b/1 is upstream_failed.$"):
        starved.result(WITHIN_S)


def test_a_handle_of_a_job_that_was_not_planned_raises_the_reason(world: World, client: Client) -> None:
    world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    refused, cancelled = (client.submit(JobRequest(app="a", key=key)) for key in ("x", "1"))
    cancelled.cancel()
    world.deliver()
    with pytest.raises(JobFailed, match=r"^a/x is refused: 'x' is not a key of a"):
        refused.result(WITHIN_S)
    with pytest.raises(JobFailed, match=r"^a/1 is cancelled.$"):
        cancelled.result(WITHIN_S)
    assert cancelled.status().submission is SubmissionState.CANCELLED


def test_a_handle_raises_timeout_and_can_be_asked_again(world: World, client: Client) -> None:
    world.apps("a")
    handle = client.submit(JobRequest(app="a", key="1", kwargs={"n": 1}))
    world.deliver()
    with pytest.raises(TimeoutError, match=f"Submission {handle.id} is still active."):
        handle.result(0.05)
    world.record(world.take("a"), result_json="1")
    assert handle.result(WITHIN_S) == 1


SOURCE = """
from sluice import app

@app(job_id="{n}", identifiers={"n": "int"})
def double(n) -> int:
    return 2 * n

@app(job_id="{n}")
def breaks(n):
    raise RuntimeError("no")
"""


@contextmanager
def working(ledger_url: str, source: Path) -> Iterator[Process]:
    """Run a process that works on an empty ledger."""
    settings = Settings(apps=(str(source),), home=source.parent, tick_s=0.1, lease_s=3.0, grace_s=5.0)
    with closing(Ledger(ledger_url)) as ledger, closing(connect_broker("memory://")) as broker:
        ledger.transact(empty)
        made = Process(settings, Definitions(settings), ledger, broker, threads=4)
        made.start()
        yield made
        made.stop()
        assert ledger.transact(breaches) == []


@pytest.fixture
def process(ledger_url: str, tmp_path: Path) -> Iterator[Process]:
    source = tmp_path / "source.py"
    source.write_text(SOURCE)
    with working(ledger_url, source) as made:
        yield made


MANY = 200
#: Threads and connections that a client may have, however many coroutines wait: four for calls, one that listens, one
#: that reads; and threads of the connection pool.
THREADS_MAX, CONNECTIONS_MAX = 12, 6


def test_two_hundred_coroutines_wait_with_few_threads_and_connections(world: World) -> None:
    world.apps("a")
    before = threading.active_count()
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waiting'"

    async def wait_all(ledger: Ledger) -> tuple[list[int], int, int]:
        async with AsyncClient(Client(ledger, world.queue.extend)) as client:
            handles = [await client.submit(JobRequest(app="a", key=str(key))) for key in range(MANY)]
            await asyncio.to_thread(world.deliver)
            results = asyncio.gather(*(handle.result(WITHIN_S) for handle in handles))
            while len(await asyncio.to_thread(marked, world)) < MANY:
                await asyncio.sleep(0.01)
            threads = threading.active_count() - before - 1  # One is that of ``to_thread``.
            connections = world.ledger.transact(lambda tx: tx.column(count))[0]
            await asyncio.to_thread(end_all)
            found = await results
            client.sync.close()
            return found, threads, connections

    def end_all() -> None:
        for key in range(MANY):
            world.record(world.take(f"a/{key}"), result_json=str(key))

    with closing(Ledger(named(world.url, "waiting"))) as ledger:
        found, threads, connections = asyncio.run(wait_all(ledger))
    assert found == [*range(MANY)]
    assert threads <= THREADS_MAX
    assert connections <= CONNECTIONS_MAX


def test_an_async_client_has_the_operations_of_a_client(process: Process) -> None:
    async def use() -> None:
        async with AsyncClient(process.client) as client:
            handle = await client.submit(JobRequest(app="double", key="21", decode=int))
            assert await handle.result(WITHIN_S) == 42
            assert (await handle.wait(WITHIN_S)).state is State.SUCCEEDED
            assert (await handle.status()).submission is SubmissionState.SUCCEEDED
            assert await client.result("double", "21") == 42
            report = await client.job("double", "21")
            assert report is not None
            assert report.result == 42
            failed = await client.submit(JobRequest(app="breaks", key="1"))
            with pytest.raises(JobFailed, match="RuntimeError: no"):
                await failed.result(WITHIN_S)
            id_ = await client.submit(Submission(app="double", key="1"))
            assert (await client.wait(id_, WITHIN_S)).state is SubmissionState.SUCCEEDED
            later = await client.submit(
                Submission(app="double", key="3", policy={"start_after": "2999-01-01T00:00:00Z"})
            )
            with pytest.raises(TimeoutError):
                await client.wait(later, 0.05)
            await client.cancel(later)
            status = await client.status(later)
            assert status is not None
            assert status.state is SubmissionState.CANCELLED

    asyncio.run(use())


def test_an_async_client_opens_the_ledger_of_its_settings(
    process: Process, ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def use() -> object:
        async with AsyncClient(ledger_url=ledger_url, broker_url="memory://") as client:
            handle = await client.submit(JobRequest(app="double", key="4"))
            result = await handle.result(WITHIN_S)
        with pytest.raises(BadRequest, match=r"The client is not open."):
            await client.status(handle.id)
        return result

    assert asyncio.run(use()) == 8


def test_a_handle_of_a_real_worker_has_the_result_within_a_second(process: Process) -> None:
    began = time.monotonic()
    assert process.client.submit(JobRequest(app="double", key="5")).result(WITHIN_S) == 10
    assert time.monotonic() - began < end_listener.CHECK_S


@pytest.mark.parametrize(("name", "printed"), [("ask.py", "480.0"), ("ask_all.py", "['graz', 'oslo']")])
def test_the_programs_of_the_page_print_results(
    ledger_url: str, tmp_path: Path, name: str, printed: str
) -> None:
    for file in ("shop.py", "ask.py", "ask_all.py"):
        blocks = re.findall(rf"^```python\n# {file}.*?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        (tmp_path / file).write_text("\n\n".join(blocks))
    with working(ledger_url, tmp_path / "shop.py"):
        done = subprocess.run(
            [sys.executable, name],
            cwd=tmp_path,
            env=os.environ
            | {"SLUICE_LEDGER_URL": ledger_url, "SLUICE_BROKER_URL": "memory://", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.stdout.strip(), done.stderr) == (printed, "")
