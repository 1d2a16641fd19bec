"""Outages of a whole installation: wiped queues, a database crash, a broker that is down, stopped workers."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.broker.messages import CONTROL
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.embedded import start
from sluice.ledger.recovery.invariants import breaches
from tests.homes import started_ledger
from tests.live.fleet import Fleet, fleet, wait_until
from tests.private_servers import SERVERS, PrivateServer

APPS = ("first", "second", "third")
KEYS = 300


def _states(ledger: Ledger) -> dict[str, int]:
    return dict(ledger.transact(lambda tx: tx.rows("SELECT state, count(*) FROM job GROUP BY state")))


def _submit(client: Client, app: str = "third", keys: int = KEYS) -> list[str]:
    return client.submit_many([Submission(app=app, key=str(key), push="wanted") for key in range(keys)])


def _all_succeed(ledger: Ledger, workers: Fleet, jobs: int) -> None:
    wait_until(
        lambda: _states(ledger) == {State.SUCCEEDED: jobs},
        within_s=120,
        explain=lambda: f"{_states(ledger)}\n{workers.log()[-3000:]}",
    )
    assert ledger.transact(breaches) == []


@pytest.mark.timeout(300)
def test_a_pipeline_finishes_although_its_queues_are_wiped(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    with fleet(2, folder, ledger=live_ledger_url, broker=broker_url) as workers:
        _submit(Client(ledger, broker.publish))
        for share in (0.2, 0.5, 0.8):
            wait_until(lambda share=share: len(workers.lines()) > share * 3 * KEYS, within_s=90)
            for queue in (*CONTROL, *APPS):
                broker.purge(queue)
        _all_succeed(ledger, workers, 3 * KEYS)
    broker.close()


@pytest.mark.timeout(300)
def test_a_database_crash_delays_jobs_and_loses_none(rabbitmq: str, folder: Path) -> None:
    broker = connect(rabbitmq)
    home = folder / "home"
    with started_ledger(home, durable=True) as url:
        ledger = Ledger(url)
        client = Client(ledger, broker.publish)
        with fleet(2, folder, ledger=url, broker=rabbitmq) as workers:
            _submit(client, keys=200)
            wait_until(lambda: len(workers.lines()) > 100, within_s=60)
            _crash(home)
            with pytest.raises(Unreachable):
                client.submit(Submission(app="first", key="1"))
            with start(home) as again:
                assert in_schema(again.url, SCHEMA) == url
                _submit(client, "first", keys=250)
                _all_succeed(ledger, workers, 650)
        ledger.close()
    broker.close()


@pytest.mark.timeout(120)
def test_workers_that_get_sigterm_finish_their_jobs_or_hand_them_back(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=broker_url, SLUICE_SHUTDOWN_GRACE="6s") as workers:
        _submit(client, "patient", keys=3)
        _submit(client, "remote", keys=1)
        _submit(client, "first", keys=100)
        long = {("patient", "0"), ("patient", "1"), ("patient", "2"), ("remote", "0")}
        wait_until(
            lambda: long <= {(app, key) for app, key, *_ in workers.lines()},
            within_s=40,
            explain=workers.log,
        )
        (folder / "effects.0").touch()
        began = time.monotonic()
        assert workers.terminate() == [0]
        assert time.monotonic() - began < 20
    states = dict(
        ledger.transact(lambda tx: tx.rows("SELECT app || key, state FROM job WHERE app <> 'first'"))
    )
    assert states.pop("patient0") in {State.SUCCEEDED, State.EXECUTED}
    assert states == dict.fromkeys(("patient1", "patient2", "remote0"), State.READY)
    counts = ledger.transact(lambda tx: tx.rows("SELECT sum(losses), sum(fails), sum(timeouts) FROM job"))
    assert counts == [(0, 0, 0)]
    (folder / "effects.1").touch()
    (folder / "effects.2").touch()
    with fleet(1, folder, ledger=live_ledger_url, broker=broker_url) as workers:
        wait_until(lambda: _states(ledger).get(State.SUCCEEDED, 0) >= 103, within_s=60, explain=workers.log)
    broker.close()


def test_a_job_submitted_while_the_broker_is_down_still_runs(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    nobody = connect("amqp://guest:guest@127.0.0.1:1")
    id_ = Client(ledger, nobody.publish).submit(Submission(app="first", key="1"))
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq):
        status = Client(ledger, nobody.publish).wait(id_, timeout_s=60)
    assert status.state is SubmissionState.SUCCEEDED
    nobody.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_workers_started_while_the_broker_is_down_work_when_it_is_back(
    server: Callable[[], AbstractContextManager[PrivateServer]],
    ledger: Ledger,
    live_ledger_url: str,
    folder: Path,
) -> None:
    with server() as broker:
        broker.kill()
        client = Client(ledger, lambda messages: None)
        id_ = client.submit(Submission(app="first", key="1"))
        words = {"ledger": live_ledger_url, "broker": broker.url, "SLUICE_STARTUP_TIMEOUT": "120s"}
        with fleet(2, folder, **words) as workers:
            wait_until(
                lambda: workers.log().count("waiting up to 120 s") == 2, within_s=60, explain=workers.log
            )
            broker.restart()
            assert client.wait(id_, timeout_s=90).state is SubmissionState.SUCCEEDED
            wait_until(lambda: workers.log().count("ready for action") == 2, within_s=60)
            assert workers.terminate() == [0, 0]


def _crash(home: Path) -> None:
    """Shut Postgres down in immediate mode: every connection breaks, and unwritten data is lost.

    Until the shutdown is over, open connections may still be served. So wait for it.
    """
    pid_file = home / "postgres" / "data" / "postmaster.pid"
    os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGQUIT)
    wait_until(lambda: not pid_file.exists(), within_s=30)
