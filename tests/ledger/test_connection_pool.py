"""Usual and highest number of connections, and connections that are closed."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import psycopg
import pytest

from sluice.jobs.errors import Unreachable
from sluice.jobs.text.server_address import named
from sluice.ledger.database import connection, connection_pool
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.connection_pool import ConnectionLimits, ConnectionTurns, NoConnection
from tests.broker.conftest import until

USUAL, MOST = 2, 5
_NAME = "bounded"
_COUNT = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{_NAME}'"


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    limits = ConnectionLimits(usual=USUAL, most=MOST)
    with closing(Ledger(named(ledger_url, _NAME), connections=limits, steady=True)) as made:
        yield made


@pytest.fixture
def observer(ledger_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(ledger_url, autocommit=True) as made:
        yield made


def count(observer: psycopg.Connection) -> int:
    [(found,)] = observer.execute(_COUNT).fetchall()
    return int(found)


def pid(ledger: Ledger) -> int:
    return int(ledger.transact(lambda tx: tx.column("SELECT pg_backend_pid()"))[0])


def test_many_threads_share_the_usual_number_of_connections(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "WAIT_S", 60.0)
    with ThreadPoolExecutor(20) as threads:
        pids = set(threads.map(lambda _: pid(ledger), range(400)))
    assert len(pids) <= USUAL


def test_a_thread_at_rest_uses_the_same_connection(ledger: Ledger) -> None:
    assert len({pid(ledger) for _ in range(10)}) == 1


def test_long_transactions_are_given_connections_beyond_the_usual_number_which_are_closed_at_the_end(
    ledger: Ledger, observer: psycopg.Connection
) -> None:
    together = threading.Barrier(MOST)

    def meet(_: int) -> None:
        with ledger.begin() as tx:
            tx.column("SELECT 1")
            together.wait(60)

    with ThreadPoolExecutor(MOST) as threads:
        list(threads.map(meet, range(MOST)))
    until(lambda: count(observer) == USUAL)


def test_no_more_than_the_most_connections_are_in_use(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "WAIT_S", 0.01)
    monkeypatch.setattr(connection, "PATIENCE_S", 0.3)
    with ExitStack() as held:
        for _ in range(MOST):
            held.enter_context(ledger.begin())
        with pytest.raises(Unreachable, match=f"all {MOST} connections"):
            pid(ledger)
    assert pid(ledger)


def test_a_caller_at_the_limit_has_the_first_connection_that_is_given_back(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "WAIT_S", 0.01)
    with ThreadPoolExecutor(1) as thread, ExitStack() as others:
        with ledger.begin():
            for _ in range(MOST - 1):
                others.enter_context(ledger.begin())
            waits = thread.submit(pid, ledger)
            until(lambda: any(waiter.is_urgent for waiter in ledger._turns._waiting))
            assert not waits.done()
        assert waits.result(10)


def test_callers_have_their_turns_in_the_order_in_which_they_came(
    ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "WAIT_S", 60.0)
    order: list[int] = []
    with closing(Ledger(ledger_url, connections=ConnectionLimits(usual=1, most=MOST))) as ledger:

        def take(number: int) -> None:
            with ledger.begin():
                order.append(number)

        callers = [threading.Thread(target=take, args=[number]) for number in range(8)]
        with ledger.begin():
            for number, caller in enumerate(callers, start=1):
                caller.start()
                until(lambda number=number: len(ledger._turns._waiting) == number)  # type: ignore[misc]  # the default is an int
        for caller in callers:
            caller.join(10)
    assert order == [*range(8)]


def test_users_code_may_use_the_ledger_during_its_own_transaction(ledger: Ledger) -> None:
    """Even if as many threads do that as there are connections."""
    together = threading.Barrier(MOST)

    def work(_: int) -> int:
        with ledger.transaction() as tx:
            tx.column("SELECT 1")
            together.wait(60)
            return pid(ledger)

    with ThreadPoolExecutor(MOST) as threads:
        assert len(list(threads.map(work, range(MOST)))) == MOST


def test_a_connection_that_was_not_used_for_long_is_closed(
    ledger: Ledger, observer: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger.begin() as tx, ledger.begin() as other:
        tx.column("SELECT 1")
        other.column("SELECT 1")
    assert pid(ledger)
    assert count(observer) == USUAL
    monkeypatch.setattr(connection_pool, "IDLE_S", 0.0)
    assert pid(ledger)
    until(lambda: count(observer) == 1)


def test_a_connection_that_is_old_is_replaced(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "LIFETIME_S", 0.0)
    assert len({pid(ledger) for _ in range(3)}) == 3


def test_a_closed_ledger_takes_no_connection(ledger: Ledger, observer: psycopg.Connection) -> None:
    assert pid(ledger)
    with ledger.begin() as tx:
        tx.column("SELECT 1")
        ledger.close()
    until(lambda: count(observer) == 0)
    with pytest.raises(Unreachable, match="closed"):
        pid(ledger)


@pytest.mark.parametrize("has_turn", [False, True])
def test_an_interrupted_wait_keeps_no_turn(monkeypatch: pytest.MonkeyPatch, has_turn: bool) -> None:
    turns = ConnectionTurns(ConnectionLimits(usual=1, most=1))
    turns.take(0.0)

    def interrupted(*_: object) -> bool:
        if has_turn:
            turns.give()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(turns, "_wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            turns.take(0.0)
    if not has_turn:
        turns.give()
    turns.take(0.0)
    with pytest.raises(NoConnection):
        turns.take(0.0)
