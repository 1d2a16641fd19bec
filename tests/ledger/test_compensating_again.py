"""Sagas across apps that are tried again: parked compensations, and jobs that run anew."""

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger.reads.check import breaches
from tests.ledger.trips import UNDONE, chain, define, fail, undone
from tests.world import World


def test_a_compensation_that_fails_is_parked_and_goes_on_by_a_retry(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund", Ending.ERROR)
    assert world.submission(UNDONE) is SubmissionState.FAILED
    assert world.state("unbook") is State.UPSTREAM_FAILED
    assert world.state("pay") is State.SUCCEEDED
    world.submit("refund", id="by hand", rerun="job")
    world.finish("refund")
    world.finish("unbook")
    assert {world.state("pay"), world.state("book")} == {State.CANCELLED}


def test_what_waits_for_a_parked_compensation_still_does_when_all_of_it_is_tried_again(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund", Ending.ERROR)
    world.submit("unbook", id="one", rerun="job")
    world.submit("refund", id="other", rerun="job")
    assert world.ready() == {"refund"}
    world.finish("refund")
    world.finish("unbook")
    assert {world.state("pay"), world.state("book")} == {State.CANCELLED}


def test_a_saga_that_is_tried_again_and_fails_again_is_undone_again(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund")
    world.finish("unbook")
    world.tick(after_s=10)
    world.submit("send", id="again", mode="saga", rerun="job")
    for job in ("book", "pay"):
        world.finish(job)
    world.finish("send", Ending.ERROR)
    world.tick()
    assert world.ready() == {"refund"}
    world.finish("refund")
    world.finish("unbook")
    assert world.history("book") == [
        *["waiting", "ready", "running", "executed", "succeeded", "cancelled"] * 2
    ]
    assert world.submission("again/compensation") is SubmissionState.SUCCEEDED


def test_what_was_run_again_meanwhile_keeps_its_success(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.submit("book", id="anew", rerun="job")
    world.finish("book")
    world.finish("unbook")
    assert world.state("book") is State.SUCCEEDED


def test_who_still_waits_for_others_does_not_begin_with_what_is_undone(world: World) -> None:
    define(
        world,
        book=undone(by="unbook"),
        pay=undone("book"),
        other=undone(),
        both=undone("book", "other"),
    )
    fail(world, "book", at="pay")
    assert world.state("both") is State.WAITING, "it was pushed, and nobody asked for the other"
    world.finish("unbook")
    assert world.state("both") is State.UPSTREAM_FAILED


def test_who_may_begin_already_goes_on_though_what_he_needed_is_undone(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.submit("pay", id="again", rerun="job")
    world.finish("unbook")
    assert (world.state("book"), world.state("pay")) == (State.CANCELLED, State.READY)
    assert world.ledger.transact(breaches) == []
    world.finish("pay")
    assert world.state("pay") is State.SUCCEEDED


def test_what_is_run_again_has_made_anew_what_was_undone(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.finish("unbook")
    world.submit("pay", id="again", rerun="job")
    assert world.ready() == {"book"}
