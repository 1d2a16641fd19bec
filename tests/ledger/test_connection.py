"""A process that stands still in the middle of a transaction keeps the others waiting for a while, not for ever."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from uuid import uuid4

import psycopg
import pytest

from sluice.jobs.errors import Unreachable
from sluice.ledger import workers
from sluice.ledger.connection import TRIES, Ledger, Tx
from sluice.ledger.dialling import SCHEMA
from sluice.ledger.emptying import empty
from tests.world import World

IDLE_S_MAX = 0.2


@pytest.fixture
def hasty(ledger_url: str) -> Iterator[Ledger]:
    ledger = Ledger(ledger_url, connections=2, idle_s_max=IDLE_S_MAX)
    ledger.transact(empty)
    yield ledger
    ledger.close()


def _lead(tx: Tx) -> bool:
    return workers.take_pulse(tx, "scheduler", uuid4(), term_s=0.0)


def _dawdle(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.hurry()
        time.sleep(3 * IDLE_S_MAX)
        tx.instant()


def test_others_get_what_a_standing_transaction_had_locked(world: World, hasty: Ledger) -> None:
    def stand_still(tx: Tx) -> bool:
        assert _lead(tx)
        # Whoever wants the row meanwhile waits until the database has ended this transaction.
        return world.ledger.transact(_lead)

    began = time.monotonic()
    with pytest.raises(Unreachable):
        hasty.transact(stand_still)
    assert time.monotonic() - began < 30


def test_what_was_ended_for_standing_still_is_done_again(hasty: Ledger) -> None:
    tries = []

    def stand_still_once(tx: Tx) -> bool:
        tries.append(tx)
        if len(tries) < TRIES:
            time.sleep(2 * IDLE_S_MAX)
        return _lead(tx)

    assert hasty.transact(stand_still_once)
    assert len(tries) == TRIES


def test_users_may_take_their_time_over_writes_of_their_own(hasty: Ledger) -> None:
    with hasty.transaction() as tx:
        time.sleep(3 * IDLE_S_MAX)
        tx.hurry()
        assert _lead(tx)
    with pytest.raises(psycopg.Error):
        _dawdle(hasty)


_PATH = "SHOW search_path"


def test_users_code_finds_its_own_tables_and_we_find_ours_again(world: World) -> None:
    with world.ledger.transaction() as tx:
        assert tx.column(_PATH) == ["public"]
        tx.hurry()
        assert tx.column(_PATH) == [f"{SCHEMA},pg_temp"]


@pytest.mark.parametrize("is_local", ["LOCAL", ""])
def test_a_path_that_users_code_sets_ends_with_its_transaction(ledger_url: str, is_local: str) -> None:
    with closing(Ledger(ledger_url, connections=1)) as ledger:
        with ledger.transaction() as tx:
            tx.connection.execute(f"SET {is_local} search_path = theirs".encode())
            tx.hurry()
            assert tx.column(_PATH) == [f"{SCHEMA},pg_temp"]
        assert ledger.transact(lambda tx: tx.column(_PATH)) == [f"{SCHEMA},pg_temp"]


def test_a_path_that_is_set_before_an_error_is_rolled_back(ledger_url: str) -> None:
    with closing(Ledger(ledger_url, connections=1)) as ledger:
        with suppress(ZeroDivisionError), ledger.transaction() as tx:
            tx.connection.execute(b"SET search_path = theirs")
            raise ZeroDivisionError
        assert ledger.transact(lambda tx: tx.column(_PATH)) == [f"{SCHEMA},pg_temp"]


def test_no_temporary_table_stands_in_for_one_of_ours(ledger_url: str) -> None:
    with closing(Ledger(ledger_url, connections=1)) as ledger:
        with ledger.transaction() as tx:
            tx.connection.execute(b"CREATE TEMPORARY TABLE job (id BIGINT)")
        assert ledger.transact(lambda tx: tx.column("SELECT 'job'::regclass = 'sluice.job'::regclass")) == [
            True
        ]
