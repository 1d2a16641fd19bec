"""Output of running jobs: stored under the claim, replaced by the outcome, and kept by a round without one."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sluice.jobs.model.history import Round
from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.states import State
from sluice.ledger.lifecycle import rounds
from sluice.ledger.lifecycle.rounds import Written
from sluice.ledger.reads.job_details import dossier
from tests.world import LEASE_S, World


def _stores(world: World, right: Claim, output: str, stderr: str = "") -> None:
    world.ledger.transact(lambda tx: rounds.store_live(tx, {right: Written(output, stderr)}))


def _rounds(world: World, app: str = "a") -> list[Round]:
    found = world.ledger.transact(lambda tx: dossier(tx, JobName(app, "1")))
    assert found is not None
    return found.rounds


def _texts(world: World) -> list[tuple[str | None, str | None, str | None]]:
    return [(each.ending, each.output, each.stderr) for each in _rounds(world)]


@pytest.fixture
def started(world: World) -> World:
    world.apps("a", max_losses=3)
    world.submit("a", id="first")
    return world


def test_the_text_of_a_running_job_is_in_its_round(started: World) -> None:
    claimed = started.take("a")
    assert _texts(started) == [(None, None, None)]
    _stores(started, claimed.right, "one\n")
    _stores(started, claimed.right, 'one\n"two"\\\n', "aside\n")
    assert _texts(started) == [(None, 'one\n"two"\\\n', "aside\n")]


def test_the_output_of_the_outcome_replaces_it(started: World) -> None:
    claimed = started.take("a")
    _stores(started, claimed.right, "one\n", "aside\n")
    assert started.record(claimed, output="one\ntwo\n", stderr="aside\nand more\n")
    assert _texts(started) == [("done", "one\ntwo\n", "aside\nand more\n")]
    _stores(started, claimed.right, "too late\n")
    assert _texts(started) == [("done", "one\ntwo\n", "aside\nand more\n")]


def test_an_outcome_without_output_keeps_it(started: World) -> None:
    claimed = started.take("a")
    _stores(started, claimed.right, "one\n")
    assert started.record(claimed, Ending.HANDED_BACK)
    assert _texts(started) == [("handed_back", "one\n", "")]


def test_the_round_of_a_lost_worker_keeps_it_and_the_next_claim_begins_without(started: World) -> None:
    first = started.claim("a", worker=started.hire())
    assert first is not None
    _stores(started, first.right, "one\n")
    started.tick(after_s=LEASE_S + 1)
    second = started.claim("a", worker=started.hire())
    assert second is not None
    assert _texts(started) == [("lease lost", "one\n", None), (None, None, None)]
    _stores(started, second.right, "again\n")
    _stores(started, first.right, "the lost worker lives\n")
    assert _texts(started) == [("lease lost", "one\n", None), (None, "again\n", None)]


def test_a_cancelled_job_keeps_it(started: World) -> None:
    claimed = started.take("a")
    _stores(started, claimed.right, "one\n")
    started.cancel("first")
    assert started.state("a") is State.CANCELLED
    assert _texts(started) == [("cancelled", "one\n", None)]
    _stores(started, claimed.right, "one\nit goes on\n")
    assert _texts(started) == [("cancelled", "one\n", None)]


def test_a_round_that_another_transaction_ends_is_left_alone_without_waiting(started: World) -> None:
    """A statement that waited for it while it holds other rounds could be part of a deadlock."""
    claimed = started.take("a")
    started.apps("b")
    started.submit("b")
    other = started.take("b")
    both = {claimed.right: Written("one\n", ""), other.right: Written("other\n", "")}
    with ThreadPoolExecutor(1) as pool, started.ledger.begin() as tx:
        tx.rows("SELECT 1 FROM round WHERE job = %(job)s FOR UPDATE", job=claimed.id)
        pool.submit(lambda: started.ledger.transact(lambda tx: rounds.store_live(tx, both))).result(
            timeout=20
        )
    assert _texts(started) == [(None, None, None)]
    assert [each.output for each in _rounds(started, "b")] == ["other\n"]
