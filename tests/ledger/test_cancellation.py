"""Cancelling of submissions: exactly the jobs stop that no other submission wants."""

import pytest

from sluice.broker.messages import Cancel
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.races import Acts, meet_and_finish
from tests.world import World

#: Upper limit of the number of statements of the acts in these races.
STATEMENTS_MAX = 60


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


def test_a_job_that_only_a_cancelled_submission_requests_does_not_run_again_with_its_parent(
    world: World,
) -> None:
    world.apps("a -> b, b -> c")
    cancelled = world.submit("c", None, keys=["1", "2"], push="wanted")
    world.queue.append(Cancel(app="a", key="1"))
    world.deliver()
    world.cancel(cancelled)
    again = world.submit("a", push="wanted")
    world.finish("a")
    assert (world.state("b"), world.state("c")) == (State.UPSTREAM_FAILED, State.UPSTREAM_FAILED)
    assert world.submission(again) is SubmissionState.SUCCEEDED
    assert world.ledger.transact(breaches) == []


def test_a_pushed_job_that_runs_again_with_its_parent_is_still_requested(world: World) -> None:
    """The submission that pushed it has ended. Another one that requests the job has been cancelled."""
    world.apps("a -> b")
    world.cancel(world.submit("b", push="wanted"))
    pushing = world.submit("b", id="pushing", rerun="alone", push="wanted")
    assert (world.state("b"), world.submission(pushing)) == (State.UPSTREAM_FAILED, SubmissionState.FAILED)
    world.submit("a", push="wanted")
    assert world.ledger.transact(breaches) == []
    world.finish("a")
    world.finish("b")


class CancelledParent(Acts):
    """World in which ``a`` was cancelled by name, and ``b`` could not run. Their submission is active."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.apps("a -> b")
        self.submission = self.world.submit("b", None, keys=["1", "2"], push="wanted")
        self.world.queue.append(Cancel(app="a", key="1"))
        self.world.deliver()


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_cancellation_that_races_a_new_request_of_a_parent_leaves_no_job_without_a_request(
    embedded_url: str, swapped: bool
) -> None:
    def finish(m: CancelledParent) -> None:
        m.world.finish("a")
        assert m.world.state("b") in {State.UPSTREAM_FAILED, State.CANCELLED}

    meet_and_finish(
        lambda: CancelledParent(embedded_url),
        lambda m: (m.plan("a", push="wanted"), m.cancel(m.submission)),
        finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


def test_a_cancelled_rerun_keeps_the_jobs_that_another_submission_waits_for(world: World) -> None:
    work = {"job_id": "{x}", "bash_cmd": "true"}
    both = {"both": [{"app_name": ["far"]}, {"app_name": ["other"]}]}
    world.define(
        {
            "near": work,
            "far": work | {"depends_on": {"app_name": ["near"]}},
            "other": work,
            "child": work | {"depends_on": both},
        }
    )
    world.submit("far", push="wanted")
    world.finish("near")
    world.finish("far")
    waiting = world.submit("child", push="wanted")
    rerun = world.submit("near", rerun="downstream", push="wanted")
    world.cancel(rerun)
    assert world.states() == {
        "near": State.READY,
        "far": State.WAITING,
        "other": State.READY,
        "child": State.WAITING,
    }
    for name in ("near", "far", "other", "child"):
        world.finish(name)
    assert world.submission(waiting) == "succeeded"


def test_a_cancelled_rerun_cancels_jobs_that_nothing_waits_for(world: World) -> None:
    work = {"job_id": "{x}", "bash_cmd": "true"}
    world.define({"near": work, "child": work | {"depends_on": {"app_name": ["near"]}}})
    world.submit("child", push="wanted")
    world.finish("near")
    world.finish("child")
    world.cancel(world.submit("near", rerun="job", push="wanted"))
    assert world.states() == {"near": State.CANCELLED, "child": State.SUCCEEDED}
