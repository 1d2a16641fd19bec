"""Cancelling of submissions: exactly the jobs stop that no other submission wants."""

import pytest

from sluice.broker.messages import Cancel
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World


def test_cancelling_stops_the_jobs_of_one_submission(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b")
    world.cancel(submission)
    assert world.submission(submission) is SubmissionState.CANCELLED
    assert set(world.states().values()) == {State.CANCELLED}


def test_a_job_that_another_submission_requests_continues(world: World) -> None:
    world.apps("a -> b, a -> c")
    first, _ = world.submit("b"), world.submit("c")
    world.cancel(first)
    assert world.states() == {"a": State.READY, "b": State.CANCELLED, "c": State.WAITING}


def test_a_running_job_is_cancelled_and_its_result_refused(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    world.cancel(submission)
    assert world.state("a") is State.CANCELLED
    assert not world.record(claimed)


def test_cancelling_twice_changes_nothing(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.cancel(submission)
    world.cancel(submission)
    assert world.history("a") == ["waiting", "ready", "cancelled"]


def test_a_cancelled_job_that_is_requested_again_waits_again(world: World) -> None:
    world.apps("a -> b")
    world.cancel(world.submit("b"))
    world.submit("b")
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_a_succeeded_job_is_not_cancelled(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b")
    world.finish("a")
    world.cancel(submission)
    assert world.states() == {"a": State.SUCCEEDED, "b": State.CANCELLED}


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_job_is_cancelled_with_its_last_submission(world: World, order: tuple[str, str]) -> None:
    world.apps("a")
    ids = {"first": world.submit("a"), "second": world.submit("a")}
    world.cancel(ids[order[0]])
    assert world.state("a") is State.READY
    world.cancel(ids[order[1]])
    assert world.state("a") is State.CANCELLED


def test_cancelling_a_job_by_name_fails_its_children_and_submissions(world: World) -> None:
    world.apps("a -> b")
    first, second = world.submit("a"), world.submit("b")
    world.queue.append(Cancel(app="a", key="1"))
    world.deliver()
    assert world.states() == {"a": State.CANCELLED, "b": State.UPSTREAM_FAILED}
    assert world.submission(first) is SubmissionState.FAILED
    assert world.submission(second) is SubmissionState.FAILED
