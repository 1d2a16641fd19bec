"""Plans that a process which works for long keeps."""

from collections.abc import Iterator

import pytest

from ledger.connection import Ledger, Tx
from tests.world import World

MANY = 1_000


@pytest.fixture
def steady(world: World) -> Iterator[Ledger]:
    ledger = Ledger(world.url, connections=1, steady=True)
    yield ledger
    ledger.close()


def _mode(tx: Tx) -> str:
    return str(tx.column("SHOW plan_cache_mode")[0])


def test_a_statement_on_many_is_planned_for_what_it_is_about(steady: Ledger) -> None:
    def work(tx: Tx) -> tuple[str, str]:
        tx.column("SELECT unnest(%(ids)s::bigint[])", ids=[1])
        few = _mode(tx)
        tx.column("SELECT unnest(%(ids)s::bigint[])", ids=[*range(MANY)])
        return few, _mode(tx)

    assert steady.transact(work) == ("force_generic_plan", "force_custom_plan")
    assert steady.transact(_mode) == "force_generic_plan"


def test_a_plan_for_an_empty_ledger_goes_along_an_index(steady: Ledger) -> None:
    """It is kept when the ledger is full, though at this moment it would be quicker to look at everything."""
    plan = steady.transact(lambda tx: tx.column("EXPLAIN SELECT 1 FROM job WHERE id = 1"))
    assert "job_pkey" in "".join(plan)


def test_who_is_not_steady_leaves_plans_to_the_server(world: World) -> None:
    ledger = Ledger(world.url, connections=1)
    assert ledger.transact(_mode) == "auto"
    ledger.close()
