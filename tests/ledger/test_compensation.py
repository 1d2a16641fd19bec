"""Sagas across apps: if a submission in saga mode fails or is cancelled, its succeeded jobs are undone."""

import pytest

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.trips import UNDONE, chain, define, fail, undone
from tests.world import World

_TAKE_ID = """
INSERT INTO submission (id, app, state, request, push, received_at)
VALUES (%(id)s, 'send', 'received', %(request)s::jsonb, true, %(now)s)
"""


def test_succeeded_jobs_are_undone_in_reverse_order(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    assert world.submission("s") is SubmissionState.FAILED
    assert world.ready() == {"refund"}
    world.finish("refund")
    assert world.states()["pay"] is State.CANCELLED
    assert world.states()["book"] is State.SUCCEEDED, "it is not undone yet"
    assert world.ready() == {"unbook"}
    world.finish("unbook")
    assert world.states()["book"] is State.CANCELLED
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED


def test_an_undone_job_runs_again_for_a_job_that_waits_for_it(world: World) -> None:
    ways = {"one": {"app_name": ["book", "room"]}, "two": {"app_name": ["call"]}}
    define(
        world,
        book=undone(by="unbook"),
        send=undone("book"),
        room=undone(),
        call=undone(),
        plan={**undone(), "depends_on": ways},
    )
    world.submit("send", id="s", mode="saga")
    world.finish("book")
    submission = world.submit("plan", policy={"priority": 3})
    world.finish("send", Ending.ERROR)
    world.tick()
    world.finish("unbook")
    assert (world.state("book"), world.state("plan")) == (State.READY, State.WAITING)
    assert world.field("book", "priority") == 3
    for job in ("book", "room", "plan"):
        world.finish(job)
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_saga_that_succeeds_is_not_undone(world: World) -> None:
    chain(world)
    world.submit("send", id="s", mode="saga")
    for job in ("book", "pay", "send"):
        world.finish(job)
    world.tick()
    assert world.submission("s") is SubmissionState.SUCCEEDED
    assert not world.ready()


def test_a_submission_that_is_not_a_saga_is_not_undone(world: World) -> None:
    chain(world)
    world.submit("pay", id="s")
    world.finish("book")
    world.finish("pay", Ending.ERROR)
    world.tick()
    assert "unbook" not in world.states()


def test_a_diamond_is_undone_from_its_end(world: World) -> None:
    define(
        world,
        top=undone(by="untop"),
        left=undone("top", by="unleft"),
        right=undone("top", by="unright"),
        end=undone("left", "right", by="unend"),
        after=undone("end"),
    )
    fail(world, "top", "left", "right", "end", at="after")
    assert world.ready() == {"unend"}
    world.finish("unend")
    assert world.ready() == {"unleft", "unright"}
    world.finish("unleft")
    assert world.ready() == {"unright"}
    world.finish("unright")
    world.finish("untop")
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED


def test_a_fan_out_is_undone_before_its_parent(world: World) -> None:
    define(
        world,
        top=undone(by="untop"),
        part={
            "job_id": "{x}_{n}",
            "bash_cmd": "true",
            "autofill_values": {"n": ["1", "2", "3"]},
            "depends_on": {"app_name": ["top"]},
            "compensate": "unpart",
        },
    )
    world.define(world.defined | {"unpart": {"job_id": "{key}", "bash_cmd": "true"}})
    world.submit("part", None, keys=["1_1", "1_2", "1_3"], id="s", mode="saga")
    for job in ("top", "part/1_1", "part/1_2"):
        world.finish(job)
    world.finish("part/1_3", Ending.ERROR)
    world.tick()
    assert world.ready() == {"unpart/1_1", "unpart/1_2"}
    world.finish("unpart/1_1")
    world.finish("unpart/1_2")
    assert world.ready() == {"untop"}


def test_a_job_without_a_compensation_still_keeps_the_order(world: World) -> None:
    define(
        world,
        book=undone(by="unbook"),
        note=undone("book"),
        pay=undone("note", by="refund"),
        send=undone("pay"),
    )
    fail(world, "book", "note", "pay", at="send")
    assert world.ready() == {"refund"}
    world.finish("refund")
    assert world.ready() == {"unbook"}


def test_an_irreversible_job_is_reported_and_earlier_jobs_are_undone(world: World) -> None:
    define(
        world,
        book=undone(by="unbook"),
        mail=undone("book", by="irreversible"),
        send=undone("mail"),
    )
    fail(world, "book", "mail", at="send")
    assert world.reason(UNDONE) == "irreversible: mail/1"
    world.finish("unbook")
    assert world.states()["mail"] is State.SUCCEEDED
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED


def test_a_compensation_with_nothing_to_undo_succeeds_at_once(world: World) -> None:
    chain(world)
    fail(world, at="book")
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED


def test_a_job_that_succeeded_before_the_saga_is_not_undone(world: World) -> None:
    chain(world)
    world.submit("book", id="earlier")
    world.finish("book")
    world.cancel("earlier")
    world.tick(after_s=10)
    fail(world, "pay", at="send")
    world.finish("refund")
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED
    assert world.state("book") is State.SUCCEEDED


@pytest.mark.parametrize("other", ["active", "succeeded"])
def test_a_job_on_which_another_submission_relies_is_not_undone(world: World, other: str) -> None:
    chain(world)
    define(
        world,
        book=undone(by="unbook"),
        pay=undone("book", by="refund"),
        send=undone("pay"),
        stay=undone("book"),
    )
    world.submit("stay", id="other", push="wanted")
    world.submit("send", id="s", mode="saga", push="wanted")
    world.finish("book")
    if other == "succeeded":
        world.finish("stay")
    world.finish("pay")
    world.finish("send", Ending.ERROR)
    world.tick()
    world.finish("refund")
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED
    assert "unbook" not in world.states()


def test_two_sagas_that_share_a_job_undo_it_once(world: World) -> None:
    define(world, book=undone(by="unbook"), one=undone("book"), two=undone("book"))
    world.submit("one", id="s", mode="saga", push="wanted")
    world.submit("two", id="t", mode="saga", push="wanted")
    world.finish("book")
    world.finish("one", Ending.ERROR)
    world.tick()
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED, "the other relies on it"
    world.finish("two", Ending.ERROR)
    world.tick()
    world.finish("unbook")
    assert world.submission("t/compensation") is SubmissionState.SUCCEEDED
    assert world.state("book") is State.CANCELLED


def _two_that_share(world: World) -> None:
    """Run two sagas with a common booking, and one more job each. Only the last job of each is left."""
    define(
        world,
        book=undone(by="unbook"),
        pay=undone("book", by="refund"),
        send=undone("pay"),
        rent=undone("book", by="return"),
        drive=undone("rent"),
    )
    world.submit("send", id="one", mode="saga", push="wanted")
    world.submit("drive", id="two", mode="saga", push="wanted")
    for job in ("book", "pay", "rent"):
        world.finish(job)


def test_a_shared_job_is_undone_after_its_children_in_both_sagas(world: World) -> None:
    _two_that_share(world)
    world.finish("send", Ending.ERROR)
    world.finish("drive", Ending.ERROR)
    world.tick()
    assert world.ready() == {"refund", "return"}
    world.finish("refund")
    assert world.ready() == {"return"}
    world.finish("return")
    world.finish("unbook")
    assert {world.state(job) for job in ("book", "pay", "rent")} == {State.CANCELLED}
    for saga in ("one", "two"):
        assert world.submission(f"{saga}/compensation") is SubmissionState.SUCCEEDED


def test_a_shared_job_is_undone_last_even_if_one_saga_failed_earlier(world: World) -> None:
    _two_that_share(world)
    world.finish("send", Ending.ERROR)
    world.tick()
    world.finish("drive", Ending.ERROR)
    world.tick()
    assert world.ready() == {"refund", "return"}
    world.finish("return")
    assert world.ready() == {"refund"}
    world.finish("refund")
    world.finish("unbook")
    assert {world.state(job) for job in ("book", "pay", "rent")} == {State.CANCELLED}


def test_a_saga_that_is_cancelled_is_undone(world: World) -> None:
    chain(world)
    world.submit("send", id="s", mode="saga")
    world.finish("book")
    world.cancel("s")
    world.tick()
    world.finish("unbook")
    assert world.state("book") is State.CANCELLED


def test_a_job_executed_before_the_cancellation_of_its_saga_is_undone_once_judged(world: World) -> None:
    chain(world)
    world.submit("send", id="s", mode="saga")
    claimed = world.claim("book")
    assert claimed is not None
    told, _ = transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    world.cancel("s")
    world.tick()
    assert world.submission(UNDONE) is SubmissionState.RECEIVED
    assert "book/1 of s has not ended" in world.reason(UNDONE)
    world.queue.extend(told)
    world.deliver()
    world.tick()
    assert world.ready() == {"unbook"}


def test_a_saga_that_ends_twice_is_undone_once(world: World) -> None:
    chain(world)
    fail(world, "book", at="pay")
    world.cancel("s")
    world.tick(after_s=100)
    assert world.ready() == {"unbook"}
    assert world.history("unbook") == ["waiting", "ready"]


def test_a_compensation_has_the_kwargs_of_the_job_that_it_undoes(world: World) -> None:
    chain(world)
    world.submit("pay", id="s", mode="saga", kwargs={"amount": 7})
    world.finish("book")
    world.finish("pay", Ending.ERROR)
    world.tick()
    assert world.field("unbook", "kwargs") == {"amount": 7}


def test_a_compensation_takes_back_its_id_from_a_submission_by_sql(world: World) -> None:
    chain(world)
    world.ledger.transact(lambda tx: tx.write(_TAKE_ID, id=UNDONE, request='{"app": "send", "key": "1"}'))
    world.tick(after_s=60)
    assert world.submission(UNDONE) is SubmissionState.REFUSED
    fail(world, "book", at="pay")
    world.finish("unbook")
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED


def test_a_users_request_for_a_compensation_is_refused(world: World) -> None:
    chain(world)
    world.submit("book", None, id="mine", compensates="s")
    assert world.submission("mine") is SubmissionState.REFUSED
    world.submit("book", id="taken/compensation")
    assert world.submission("taken/compensation/refused") is SubmissionState.REFUSED
