"""Retries of selected jobs: exactly these run again, and the submissions that requested them recover."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from tests.ledger.failed_weeks import RETRIED, failed_week
from tests.world import World


def again(world: World, app: str, *keys: str) -> str:
    """Retry jobs of an app, and return the new submission."""
    return world.submit(app, None, keys=list(keys or ("1",)), rerun="alone", push="wanted")


def test_failed_jobs_and_their_dead_children_run_again_and_their_submissions_succeed(world: World) -> None:
    world.apps("a -> b")
    one, other = world.submit("b"), world.submit("b", "2")
    for key in ("a/1", "a/2"):
        world.finish(key, Ending.ERROR)
    assert world.submission(one) is world.submission(other) is SubmissionState.FAILED
    new = again(world, "a", "1", "2")
    assert world.ready() == {"a", "a/2"}
    assert world.submission(one) is world.submission(other) is SubmissionState.ACTIVE
    for key in ("a/1", "a/2", "b/1", "b/2"):
        world.finish(key)
    ends = {world.submission(each) for each in (one, other, new)}
    assert ends == {SubmissionState.SUCCEEDED}


def test_a_paused_job_goes_on_for_a_submission_that_is_active_again(world: World) -> None:
    work = {"job_id": "{x}", "bash_cmd": "true"}
    child = work | {"depends_on": {"app_name": ["a", "b"]}}
    last = work | {"depends_on": {"app_name": ["child"]}}
    world.define({"a": work, "b": work, "child": child, "last": last})
    world.submit("last")
    world.finish("a", Ending.ERROR)
    world.finish("b")
    world.pause(world.submit("b", rerun="job"))
    assert world.state("b") is State.WAITING
    again(world, "last")
    assert world.state("b") is State.READY


def test_other_failed_jobs_of_the_submission_stay_failed_and_so_does_it(world: World) -> None:
    world.apps("a")
    submission = world.submit("a", None, keys=["1", "2"])
    world.finish("a/1", Ending.ERROR)
    world.finish("a/2", Ending.ERROR)
    again(world, "a", "1")
    assert world.states() == {"a": State.READY, "a/2": State.FAILED}
    world.finish("a/1")
    assert world.submission(submission) is SubmissionState.FAILED


def test_no_parents_of_a_pushed_child_are_requested(world: World) -> None:
    submission = failed_week(world)
    again(world, "day", "1")
    again(world, "week", "w")
    assert world.states() == RETRIED
    world.finish("day/1")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_succeeded_and_unfinished_jobs_stay_as_they_are(world: World) -> None:
    world.apps("a")
    submission = world.submit("a", None, keys=["1", "2"])
    world.finish("a/1")
    new = again(world, "a", "1", "2", "absent")
    assert world.states() == {"a": State.SUCCEEDED, "a/2": State.READY}
    assert world.submission(new) is SubmissionState.SUCCEEDED
    assert world.submission(submission) is SubmissionState.ACTIVE


def test_a_job_of_an_active_submission_runs_again_within_it(world: World) -> None:
    world.apps("a")
    submission = world.submit("a", None, keys=["1", "2"])
    world.finish("a/1", Ending.ERROR)
    again(world, "a", "1")
    world.finish("a/1")
    world.finish("a/2")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_job_that_is_upstream_failed_fails_again_unless_its_parent_has_succeeded(world: World) -> None:
    world.apps("a -> b, a -> c")
    one, other = world.submit("b", push="wanted"), world.submit("c", push="wanted")
    world.finish("a", Ending.ERROR)
    again(world, "b")
    assert world.states() == {
        "a": State.FAILED,
        "b": State.UPSTREAM_FAILED,
        "c": State.UPSTREAM_FAILED,
    }
    world.retry(one)
    world.finish("a")
    again(world, "c")
    assert world.ready() == {"b", "c"}
    world.finish("c")
    assert world.submission(other) is SubmissionState.SUCCEEDED


def test_cancelled_and_paused_submissions_are_not_active_again(world: World) -> None:
    world.apps("a")
    cancelled = world.submit("a")
    world.cancel(cancelled)
    new = again(world, "a", "1")
    assert world.ready() == {"a"}
    assert world.submission(cancelled) is SubmissionState.CANCELLED
    world.cancel(new)
    assert world.state("a") is State.CANCELLED


def test_a_job_of_an_undefined_app_is_left_out_with_the_reason(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b")
    world.finish("a")
    world.finish("b", Ending.ERROR)
    world.apps("a")
    new = again(world, "b")
    world.tick(after_s=120)
    assert "Not run again: b/1: " in world.reason(new)
    assert world.submission(new) is world.submission(submission) is SubmissionState.FAILED


def test_a_job_that_makes_partitions_is_left_as_it_is(world: World) -> None:
    world.define({"t": {"partition": "day", "step_size": 1, "bash_cmd": "true"}})
    world.submit("t", None, start="2024-04-01", end="2024-04-01")
    (step,) = world.ready()
    world.finish(step, Ending.ERROR)
    new = again(world, "t", step.removeprefix("t/"))
    assert world.state(step) is State.FAILED
    assert "it makes partitions" in world.reason(new)


def test_only_named_jobs_can_run_again_alone() -> None:
    with pytest.raises(ValueError, match="needs key or keys"):
        Submission(app="a", rerun="alone")
