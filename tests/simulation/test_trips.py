"""What the simulation says of compensations at rest: of those that are wrong, and not of those that look so."""

import pytest

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from tests.ledger.trips import UNDONE, chain, define, fail, undone
from tests.simulation.trips import Trips
from tests.world import World

PARKED = f"parked, and nothing has failed: {UNDONE}"
STILL_THERE = f"undone, and still there: {UNDONE}: book/1"


def _says(world: World) -> set[str]:
    """Of the two that are looked at here."""
    said = world.ledger.transact(Trips(world.defined).left)
    return {PARKED, STILL_THERE}.intersection(said)


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


def test_one_whose_undo_has_failed_is_parked_and_stays_so_when_that_is_tried_again(parked: World) -> None:
    assert _says(parked) == set()
    parked.tick(after_s=1)
    parked.submit("refund", id="by hand", rerun="job")
    parked.finish("refund")
    parked.finish("unbook")
    assert parked.submission(UNDONE) is SubmissionState.FAILED
    assert _says(parked) == set()


def test_one_that_is_parked_though_all_went_well_is_told_of(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund")
    world.finish("unbook")
    assert _says(world) == set()
    _write(world, "UPDATE submission SET state = 'failed' WHERE id = %(id)s")
    assert _says(world) == {PARKED}


def test_a_failure_that_came_after_it_was_parked_is_no_reason(parked: World) -> None:
    """That it has failed now would be one, so it is tried again."""
    _write(parked, "UPDATE submission SET ended_at = planned_at - interval '1 hour' WHERE id = %(id)s")
    parked.submit("refund", id="by hand", rerun="job")
    parked.finish("refund")
    parked.finish("unbook")
    assert _says(parked) == {PARKED}


def test_a_failed_job_that_undoes_nothing_is_no_reason(world: World) -> None:
    define(world, book=undone(by="unbook"), pay=undone("book"))
    fail(world, "book", at="pay")
    world.finish("unbook")
    assert world.state("pay") is State.FAILED
    _write(world, "UPDATE submission SET state = 'failed' WHERE id = %(id)s")
    assert _says(world) == {PARKED}


def test_what_is_still_there_after_it_was_undone_is_told_of(world: World) -> None:
    define(world, book=undone(by="unbook"), pay=undone("book"))
    fail(world, "book", at="pay")
    world.finish("unbook")
    assert _says(world) == set()
    _write(world, "UPDATE job SET state = 'succeeded' WHERE app = 'book'")
    assert _says(world) == {STILL_THERE}
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET state = 'cancelled' WHERE app = 'book'"))


def test_what_ran_again_after_that_and_is_to_be_undone_anew_is_not(world: World) -> None:
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
