"""Thousands of jobs that call a dead server. Few are tried before it is back, and then all succeed."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import accumulate, takewhile
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import RETRY, State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.dependent import FAILS, PAUSE_S, PAUSE_S_MAX, PER_S, RETRIES
from tests.live.fleet import Fleet, fleet, wait_until

APPS = str(Path(__file__).parent / "dependent.py")
JOBS, ASKING = 5000, 1500
WORKERS, THREADS = 2, 4
#: Failed trials of the breaker before the server is back.
TRIALS_SEEN = 3


class Server:
    """Server that owns its port from the beginning. It refuses connections until it listens."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def listen(self) -> None:
        self._socket.listen(100)
        Thread(target=self._answer, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _answer(self) -> None:
        while True:
            try:
                self._socket.accept()[0].close()
            except OSError:
                return


@contextmanager
def dead_server() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


def _count(ledger: Ledger, state: State) -> int:
    return int(
        ledger.transact(
            lambda tx: tx.column("SELECT count(*) FROM job WHERE state = %(state)s", state=state)
        )[0]
    )


def _open_for_s(ledger: Ledger) -> float:
    """Return how long the breaker has been open, by the clock that its pauses use."""
    found = ledger.transact(
        lambda tx: tx.column(
            "SELECT extract(epoch FROM clock_timestamp() - since)::float8 FROM app_pause WHERE until IS NOT NULL"
        )
    )
    return float(found[0]) if found else 0.0


def _retrying_for_s(ledger: Ledger) -> float:
    """Return the seconds since the first failure was judged and given a retry."""
    found = ledger.transact(
        lambda tx: tx.column(
            "SELECT extract(epoch FROM clock_timestamp() - min(at))::float8 FROM transition WHERE verb = %(verb)s",
            verb=RETRY.name,
        )
    )
    return float(found[0] or 0.0)


def _trials_max(within_s: float) -> int:
    """Return how many trials there is time for. Each trial comes after a pause."""
    pauses_s = (min(PAUSE_S * 2**nth, PAUSE_S_MAX) for nth in range(10_000))
    return sum(1 for _ in takewhile(lambda due_s: due_s <= within_s, accumulate(pauses_s)))


class Storm(NamedTuple):
    """Thousands of jobs of one app that call a dead server.

    ``passes`` revives the server, and waits until all jobs have succeeded.
    """

    ledger: Ledger
    server: Server
    workers: Fleet
    jobs: int

    def passes(self) -> None:
        self.server.listen()
        wait_until(
            lambda: _count(self.ledger, State.SUCCEEDED) == self.jobs, within_s=500, explain=self.workers.log
        )
        assert self.ledger.transact(breaches) == []


@contextmanager
def storm(
    app: str, jobs: int, *, ledger: Ledger, ledger_url: str, broker_url: str, folder: Path
) -> Iterator[Storm]:
    with (
        closing(connect(broker_url)) as broker,
        dead_server() as server,
        fleet(
            WORKERS,
            folder,
            ledger=ledger_url,
            broker=broker_url,
            apps=APPS,
            threads=THREADS,
            SERVER_PORT=str(server.port),
            SLUICE_LEASE="60s",
        ) as workers,
    ):
        keys = tuple(str(key) for key in range(jobs))
        Client(ledger, broker.publish).submit(Submission(app=app, keys=keys))
        yield Storm(ledger, server, workers, jobs)


@pytest.mark.timeout(900)
def test_a_breaker_limits_runs_against_a_dead_server_and_all_jobs_succeed_later(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    with storm(
        "calls", JOBS, ledger=ledger, ledger_url=live_ledger_url, broker_url=broker_url, folder=folder
    ) as found:
        workers = found.workers
        most = FAILS - 1 + WORKERS * THREADS
        wait_until(
            lambda: len(workers.lines()) >= FAILS + TRIALS_SEEN and _open_for_s(ledger) > PAUSE_S_MAX * 2,
            within_s=240,
            explain=workers.log,
        )
        begun = len(workers.lines())
        open_s = _open_for_s(ledger)
        assert begun <= most + _trials_max(open_s), f"of {JOBS} jobs, open for {open_s:.1f} s"
        assert _count(ledger, State.SUCCEEDED) == 0
        found.passes()


@pytest.mark.timeout(600)
def test_a_retry_budget_limits_retries_against_a_dead_server_and_all_jobs_succeed_later(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    with storm(
        "asks", ASKING, ledger=ledger, ledger_url=live_ledger_url, broker_url=rabbitmq, folder=folder
    ) as found:
        workers = found.workers
        wait_until(lambda: len(_again(workers)) > RETRIES * 4, within_s=240, explain=workers.log)
        tried_again = len(_again(workers))
        asking_s = _retrying_for_s(ledger)
        most = RETRIES + RETRIES * asking_s / PER_S
        assert tried_again <= most, f"{tried_again} of {ASKING} were tried again within {asking_s:.1f} s"
        found.passes()


def _again(workers: Fleet) -> list[list[str]]:
    """Return the runs of jobs that had run before."""
    return [line for line in workers.lines() if int(line[2]) > 1]
