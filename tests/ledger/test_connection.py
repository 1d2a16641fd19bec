"""Connections: the limit for idle transactions, and the search path of users' code and of the ledger."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from uuid import uuid4

import psycopg
import pytest

from sluice.jobs.errors import Unreachable
from sluice.ledger.database.connection import TRIES, Ledger, Tx
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.fixtures import empty
from sluice.ledger.recovery import leases
from tests.world import World

IDLE_S_MAX = 0.2


@pytest.fixture
def hasty(ledger_url: str) -> Iterator[Ledger]:
    ledger = Ledger(ledger_url, connections=2, idle_s_max=IDLE_S_MAX)
    ledger.transact(empty)
    yield ledger
    ledger.close()


def _lead(tx: Tx) -> bool:
    return leases.take_leadership(tx, "scheduler", uuid4(), term_s=0.0)


def _dawdle(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.restore_idle_timeout()
        time.sleep(3 * IDLE_S_MAX)
        tx.current_time()


def test_the_locks_of_an_idle_transaction_are_released_after_the_limit(world: World, hasty: Ledger) -> None:
    def stand_still(tx: Tx) -> bool:
        assert _lead(tx)
        # Another transaction that wants the row waits until the database has ended this one.
        return world.ledger.transact(_lead)

    began = time.monotonic()
    with pytest.raises(Unreachable):
        hasty.transact(stand_still)
    assert time.monotonic() - began < 30


def test_a_statement_alone_is_committed_in_one_round_trip(world: World, ledger_url: str) -> None:
    with closing(Ledger(ledger_url, connections=1, steady=True)) as steady:
        steady.run_alone(_lead)
        before = steady.round_trips()
        assert steady.run_alone(_lead)
        assert steady.round_trips() == before + 1
    assert world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM leader")) == [1]


def test_a_statement_alone_is_repeated_on_a_new_connection(world: World, ledger_url: str) -> None:
    with closing(Ledger(ledger_url, connections=1, steady=True)) as steady:
        end = "SELECT pg_terminate_backend(%(pid)s)"
        pid = steady.run_alone(lambda tx: tx.column("SELECT pg_backend_pid()"))[0]
        world.ledger.transact(lambda tx: tx.rows(end, pid=pid))
        assert steady.run_alone(_lead)


def test_a_transaction_that_was_ended_while_idle_is_repeated(hasty: Ledger) -> None:
    tries = []

    def stand_still_once(tx: Tx) -> bool:
        tries.append(tx)
        if len(tries) < TRIES:
            time.sleep(2 * IDLE_S_MAX)
        return _lead(tx)

    assert hasty.transact(stand_still_once)
    assert len(tries) == TRIES


def test_the_idle_limit_does_not_apply_to_users_own_writes(hasty: Ledger) -> None:
    with hasty.transaction() as tx:
        time.sleep(3 * IDLE_S_MAX)
        tx.restore_idle_timeout()
        assert _lead(tx)
    with pytest.raises(psycopg.Error):
        _dawdle(hasty)


_PATH = "SHOW search_path"


def test_users_code_and_the_ledger_each_have_their_own_search_path(world: World) -> None:
    with world.ledger.transaction() as tx:
        assert tx.column(_PATH) == ["public"]
        tx.restore_idle_timeout()
        assert tx.column(_PATH) == [f"{SCHEMA},pg_temp"]


@pytest.mark.parametrize("is_local", ["LOCAL", ""])
def test_a_search_path_that_users_code_sets_does_not_affect_the_ledger(
    ledger_url: str, is_local: str
) -> None:
    with closing(Ledger(ledger_url, connections=1)) as ledger:
        with ledger.transaction() as tx:
            tx.connection.execute(f"SET {is_local} search_path = theirs".encode())
            tx.restore_idle_timeout()
            assert tx.column(_PATH) == [f"{SCHEMA},pg_temp"]
        assert ledger.transact(lambda tx: tx.column(_PATH)) == [f"{SCHEMA},pg_temp"]


def test_a_search_path_that_is_set_before_an_error_is_rolled_back(ledger_url: str) -> None:
    with closing(Ledger(ledger_url, connections=1)) as ledger:
        with suppress(ZeroDivisionError), ledger.transaction() as tx:
            tx.connection.execute(b"SET search_path = theirs")
            raise ZeroDivisionError
        assert ledger.transact(lambda tx: tx.column(_PATH)) == [f"{SCHEMA},pg_temp"]


def test_a_temporary_table_cannot_replace_a_table_of_the_ledger(ledger_url: str) -> None:
    with closing(Ledger(ledger_url, connections=1)) as ledger:
        with ledger.transaction() as tx:
            tx.connection.execute(b"CREATE TEMPORARY TABLE job (id BIGINT)")
        assert ledger.transact(lambda tx: tx.column("SELECT 'job'::regclass = 'sluice.job'::regclass")) == [
            True
        ]
