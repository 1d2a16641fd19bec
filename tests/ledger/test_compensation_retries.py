"""Retries of sagas across apps: failed compensations that go on, and jobs that run again."""

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.trips import UNDONE, chain, define, fail, undone
from tests.world import World


def test_a_failed_compensation_goes_on_when_its_job_is_rerun(world: World) -> None:
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


def test_compensations_keep_their_order_when_all_of_them_are_rerun(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund", Ending.ERROR)
    world.submit("unbook", id="one", rerun="job")
    world.submit("refund", id="other", rerun="job")
    assert world.ready() == {"refund"}
    world.finish("refund")
    world.finish("unbook")
    assert {world.state("pay"), world.state("book")} == {State.CANCELLED}


def test_a_saga_that_is_rerun_and_fails_again_is_undone_again(world: World) -> None:
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


def test_a_job_that_was_rerun_meanwhile_keeps_its_success(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.submit("book", id="anew", rerun="job")
    world.finish("book")
    world.finish("unbook")
    assert world.state("book") is State.SUCCEEDED


def test_a_child_that_still_waits_does_not_begin_with_an_undone_parent(world: World) -> None:
    define(
        world,
        book=undone(by="unbook"),
        pay=undone("book"),
        other=undone(),
        both=undone("book", "other"),
    )
    fail(world, "book", at="pay")
    assert world.state("both") is State.WAITING, "book pushed it, and no submission requests other"
    world.finish("unbook")
    assert world.state("both") is State.UPSTREAM_FAILED


def test_a_ready_child_goes_on_although_its_parent_is_undone(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.submit("pay", id="again", rerun="job")
    world.finish("unbook")
    assert (world.state("book"), world.state("pay")) == (State.CANCELLED, State.READY)
    assert world.ledger.transact(breaches) == []
    world.finish("pay")
    assert world.state("pay") is State.SUCCEEDED


def test_a_rerun_also_runs_the_parent_that_was_undone(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.finish("unbook")
    world.submit("pay", id="again", rerun="job")
    assert world.ready() == {"book"}
