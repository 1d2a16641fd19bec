"""Retries of submissions: exactly the submission's own unsuccessful jobs run again, and its state follows from them."""

from collections.abc import Callable

import pytest

from sluice.actors.planner.retries import retry
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.failed_weeks import RETRIED, failed_week
from tests.world import World


def test_a_retry_does_not_pull_parents_of_a_pushed_child_that_were_not_requested(world: World) -> None:
    submission = failed_week(world)
    world.retry(submission)
    assert world.states() == RETRIED
    world.finish("day/1")
    assert world.ready() == set()
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_retried_submission_succeeds_when_its_failed_jobs_and_their_children_succeed(world: World) -> None:
    world.apps("a -> c, b -> c, c -> d")
    submission = world.submit("d")
    world.finish("b")
    world.finish("a", Ending.ERROR)
    assert world.submission(submission) is SubmissionState.FAILED
    world.retry(submission)
    assert world.submission(submission) is SubmissionState.ACTIVE
    for job in ("a", "c", "d"):
        assert world.ready() == {job}
        world.finish(job)
    assert world.submission(submission) is SubmissionState.SUCCEEDED
    assert world.history("b").count("running") == 1


def test_a_retry_that_fails_can_be_retried(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.finish("a", Ending.ERROR)
    world.retry(submission)
    world.finish("a", Ending.ERROR)
    assert world.submission(submission) is SubmissionState.FAILED
    world.retry(submission)
    world.finish("a")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_retry_leaves_the_failed_jobs_of_other_submissions(
    world: World,
) -> None:
    world.apps("a -> b, a -> c")
    one, other = world.submit("b", push="wanted"), world.submit("c", push="wanted")
    world.finish("a", Ending.ERROR)
    world.retry(one)
    world.finish("a")
    world.finish("b")
    assert world.states() == {"a": State.SUCCEEDED, "b": State.SUCCEEDED, "c": State.UPSTREAM_FAILED}
    assert (world.submission(one), world.submission(other)) == (
        SubmissionState.SUCCEEDED,
        SubmissionState.FAILED,
    )
    world.retry(other)
    assert world.ready() == {"c"}
    world.finish("c")
    assert world.submission(other) is SubmissionState.SUCCEEDED


def test_a_retry_succeeds_at_once_if_a_rerun_has_completed_all_its_jobs(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.finish("a", Ending.ERROR)
    world.submit("a", rerun="job")
    world.finish("a")
    world.retry(submission)
    assert world.submission(submission) is SubmissionState.SUCCEEDED
    assert world.state("a") is State.SUCCEEDED


def test_a_retry_does_not_run_the_failed_parent_of_another_submission(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    submission = world.submit("b")
    world.retry(submission)
    assert world.states() == {"a": State.FAILED, "b": State.UPSTREAM_FAILED}
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_retry_runs_cancelled_jobs_again(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b")
    world.cancel(submission)
    world.retry(submission)
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_a_retry_plans_a_submission_that_was_cancelled_before_its_plan(world: World) -> None:
    world.apps("a")
    world.define({})
    submission = world.submit("a")
    world.cancel(submission)
    world.apps("a")
    world.retry(submission)
    assert world.ready() == {"a"}


def test_a_retried_submission_can_be_cancelled_before_and_after_it_is_planned(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.finish("a", Ending.ERROR)
    retry(world.ledger, submission)
    world.cancel(submission)
    assert (world.submission(submission), world.state("a")) == (SubmissionState.CANCELLED, State.FAILED)
    world.retry(submission)
    world.cancel(submission)
    assert world.states() == {"a": State.CANCELLED}


def test_the_groomer_plans_a_retry_if_its_message_was_lost(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.finish("a", Ending.ERROR)
    retry(world.ledger, submission)
    world.tick(after_s=1)
    assert world.ready() == {"a"}


def _succeeded(world: World) -> str:
    submission = world.submit("a")
    world.finish("a")
    return submission


def _refused(world: World) -> str:
    return world.submit("a", policy={"max_fails": "many"})


def _paused(world: World) -> str:
    submission = world.submit("a")
    assert world.claim("a") is not None
    world.pause(submission)
    world.cancel(submission)
    return submission


@pytest.mark.parametrize(
    ("arrange", "what"),
    [
        (lambda world: world.submit("a"), "is active; only an ended submission can be run again"),
        (_succeeded, "is succeeded: none of its jobs has to be run again"),
        (_refused, "was refused: "),
        (_paused, "is paused"),
        (lambda _: "absent", "There is no submission absent."),
    ],
)
def test_active_succeeded_refused_paused_and_unknown_submissions_are_not_retried(
    world: World, arrange: Callable[[World], str], what: str
) -> None:
    world.apps("a")
    submission = arrange(world)
    with pytest.raises(BadRequest, match=what):
        retry(world.ledger, submission)


def test_a_retry_uses_the_current_definition_and_the_terms_of_the_submission(world: World) -> None:
    world.apps("a", max_fails=0)
    submission = world.submit(
        "a", kwargs={"n": 1}, policy={"priority": 3, "end_before": "2026-01-01T00:01:00Z"}
    )
    world.finish("a", Ending.ERROR)
    world.apps("a", max_fails=2, timeout="9s")
    world.now = world.now.replace(hour=1)
    world.retry(submission)
    terms = ("kwargs", "max_fails", "timeout_s", "priority", "end_before")
    assert [world.field("a", term) for term in terms] == [{"n": 1}, 2, 9.0, 3, None]
    assert world.state("a") is State.READY


def test_a_retry_runs_a_parent_that_the_current_definition_adds(world: World) -> None:
    world.apps("b -> c")
    submission = world.submit("c")
    world.finish("b")
    world.finish("c", Ending.ERROR)
    world.apps("b -> c, a -> c")
    world.retry(submission)
    assert world.states() == {"a": State.READY, "b": State.SUCCEEDED, "c": State.WAITING}
    world.finish("a")
    world.finish("c")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_retry_leaves_out_and_names_a_job_of_an_undefined_app(world: World) -> None:
    world.apps("a -> b, a -> c")
    submission = world.submit("a")
    world.finish("a")
    world.finish("b", Ending.ERROR)
    world.finish("c", Ending.ERROR)
    world.apps("a -> b")
    world.retry(submission)
    assert world.ready() == {"b"}
    assert "Not run again: c/1: " in world.reason(submission)
    world.finish("b")
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_retry_releases_a_job_that_another_submission_has_paused(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.finish("a", Ending.ERROR)
    paused = world.submit("a", rerun="job")
    world.pause(paused)
    assert world.state("a") is State.WAITING
    world.retry(submission)
    assert world.ready() == {"a"}
