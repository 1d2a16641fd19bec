"""Tests of the simulation's checks of compensations at rest: they report wrong ones, and no others."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.trips import UNDONE, chain, define, fail, undone
from tests.simulation.trips import Trips
from tests.world import World

PARKED = f"parked, and nothing has failed: {UNDONE}"
STILL_THERE = f"undone, and still there: {UNDONE}: book/1"
LEFT = f"{UNDONE} has left book/1 as it is"


def _says(world: World) -> set[str]:
    """Return the reports of the three checks that are tested here."""
    said = world.ledger.transact(Trips(world.defined).left)
    return {PARKED, STILL_THERE, LEFT}.intersection(said)


def _write(world: World, sql: str) -> None:
    world.ledger.transact(lambda tx: tx.write(sql, id=UNDONE))


@pytest.fixture
def parked(world: World) -> World:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.tick(after_s=1)
    world.finish("refund", Ending.ERROR)
    assert world.submission(UNDONE) is SubmissionState.FAILED
    return world


def test_a_compensation_parked_by_a_failed_undo_is_not_reported_even_after_a_retry(parked: World) -> None:
    assert _says(parked) == set()
    parked.tick(after_s=1)
    parked.submit("refund", id="by hand", rerun="job")
    parked.finish("refund")
    parked.finish("unbook")
    assert parked.submission(UNDONE) is SubmissionState.FAILED
    assert _says(parked) == set()


def test_a_compensation_parked_without_a_failure_is_reported(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund")
    world.finish("unbook")
    assert _says(world) == set()
    _write(world, "UPDATE submission SET state = 'failed' WHERE id = %(id)s")
    assert _says(world) == {PARKED}


def test_a_failure_after_the_parking_does_not_justify_it(parked: World) -> None:
    """The undo is tried again, because a present failure would justify the parking."""
    _write(parked, "UPDATE submission SET ended_at = planned_at - interval '1 hour' WHERE id = %(id)s")
    parked.submit("refund", id="by hand", rerun="job")
    parked.finish("refund")
    parked.finish("unbook")
    assert _says(parked) == {PARKED}


def test_a_failed_job_that_is_no_undo_does_not_justify_parking(world: World) -> None:
    define(world, book=undone(by="unbook"), pay=undone("book"))
    fail(world, "book", at="pay")
    world.finish("unbook")
    assert world.state("pay") is State.FAILED
    _write(world, "UPDATE submission SET state = 'failed' WHERE id = %(id)s")
    assert _says(world) == {PARKED}


def test_an_effect_that_remains_after_its_compensation_is_reported(world: World) -> None:
    define(world, book=undone(by="unbook"), pay=undone("book"))
    fail(world, "book", at="pay")
    world.finish("unbook")
    assert _says(world) == set()
    _write(world, "UPDATE job SET state = 'succeeded' WHERE app = 'book'")
    assert _says(world) == {STILL_THERE, LEFT}
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET state = 'cancelled' WHERE app = 'book'"))


def test_an_effect_of_a_later_run_is_not_reported(world: World) -> None:
    define(world, book=undone(by="unbook"), pay=undone("book"))
    fail(world, "book", at="pay")
    world.finish("unbook")
    world.tick(after_s=10)
    world.submit("pay", id="again", mode="saga", rerun="job")
    world.finish("book")
    world.finish("pay", Ending.ERROR)
    world.tick()
    assert world.ready() == {"unbook"}
    assert world.state("book") is State.SUCCEEDED
    assert _says(world) == set()
    world.finish("unbook")
    assert _says(world) == set()


def test_an_effect_of_a_retried_saga_is_reported_only_if_the_saga_has_not_succeeded(world: World) -> None:
    define(world, book=undone(by="unbook"), pay=undone("book"))
    fail(world, "book", at="pay")
    world.finish("unbook")
    world.tick(after_s=10)
    world.retry("s")
    world.finish("book")
    world.finish("pay")
    assert world.submission("s") is SubmissionState.SUCCEEDED
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED
    assert _says(world) == set()
    world.ledger.transact(lambda tx: tx.write("UPDATE submission SET state = 'failed' WHERE id = 's'"))
    assert _says(world) == {LEFT}
