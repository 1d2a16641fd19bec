"""A paused submission: no job starts that only this submission requests. Resuming continues all of its jobs."""

from datetime import timedelta

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle import submissions
from sluice.ledger.limits import pauses
from sluice.ledger.reads.quiescence import idle
from tests.world import LEASE_S, World


def test_a_ready_job_of_a_paused_submission_waits_and_resuming_releases_it(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b")
    world.pause(submission)
    assert world.states() == {"a": State.WAITING, "b": State.WAITING}
    world.tick(after_s=100)
    assert world.ready() == set()
    world.offered.clear()
    world.resume(submission)
    assert world.ready() == {"a"}
    assert [turn.job for execute in world.offered for turn in execute.jobs] == [world.known("a").id]
    world.finish("a")
    world.finish("b")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_running_job_ends_during_a_pause_and_its_children_wait(world: World) -> None:
    world.apps("a -> b, a -> c")
    submission = world.submit("b")
    claimed = world.take("a")
    world.pause(submission)
    assert world.record(claimed)
    assert world.states() == {"a": State.SUCCEEDED, "b": State.WAITING, "c": State.WAITING}
    world.resume(submission)
    assert world.ready() == {"b", "c"}


def test_a_child_that_is_pushed_during_a_pause_waits(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("a")
    claimed = world.take("a")
    world.pause(submission)
    world.record(claimed)
    assert world.states() == {"a": State.SUCCEEDED, "b": State.WAITING}
    world.resume(submission)
    assert world.ready() == {"b"}


def test_an_alternative_that_is_requested_during_a_pause_is_never_ready(world: World) -> None:
    """The alternative needs a parent that was not planned before."""
    world.define(
        {
            "a": {"job_id": "{x}"},
            "first": {"job_id": "{x}"},
            "b": {"job_id": "{x}", "depends_on": {"app_name": ["first"]}},
            "c": {
                "job_id": "{x}",
                "depends_on": {"usual": {"app_name": ["a"]}, "else": {"app_name": ["b"]}},
            },
        }
    )
    submission = world.submit("c", push="wanted")
    claimed = world.take("a")
    world.pause(submission)
    world.offered.clear()
    world.record(claimed, Ending.ERROR)
    assert (world.history("first"), world.offered) == (["waiting"], [])
    world.resume(submission)
    assert world.ready() == {"first"}


def test_a_late_notification_claims_no_job_of_a_paused_submission(world: World) -> None:
    world.apps("a")
    world.pause(world.submit("a"))
    assert world.claim("a") is None


def test_the_next_try_of_a_paused_job_waits(world: World) -> None:
    world.apps("a", max_fails=1, max_timeouts=1)
    submission = world.submit("a")
    for ending in (Ending.ERROR, Ending.TIMED_OUT, Ending.HANDED_BACK):
        claimed = world.take("a")
        world.pause(submission)
        assert world.record(claimed, ending)
        world.tick(after_s=1)
        assert world.state("a") is State.WAITING
        world.resume(submission)
        assert world.state("a") is State.READY


def test_a_paused_job_waits_after_its_worker_is_lost(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.claim("a")
    world.pause(submission)
    world.tick(after_s=LEASE_S + 1)
    assert world.state("a") is State.WAITING
    world.resume(submission)
    assert world.state("a") is State.READY


def test_a_job_that_another_submission_requests_continues(world: World) -> None:
    world.apps("a -> b, a -> c")
    first, _ = world.submit("b"), world.submit("c", push="wanted")
    world.pause(first)
    assert world.ready() == {"a"}
    world.finish("a")
    assert world.states() == {"a": State.SUCCEEDED, "b": State.WAITING, "c": State.READY}


def test_a_job_waits_while_all_submissions_that_request_it_are_paused(world: World) -> None:
    world.apps("a")
    first, second = world.submit("a"), world.submit("a")
    world.pause(first)
    assert world.ready() == {"a"}
    world.pause(second)
    assert world.ready() == set()
    world.resume(first)
    assert world.ready() == {"a"}


def test_a_new_submission_releases_a_paused_job(world: World) -> None:
    world.apps("a -> b, a -> c")
    first = world.submit("b")
    world.pause(first)
    world.submit("c")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}


def test_a_job_waits_when_its_last_submission_that_is_not_paused_is_cancelled(world: World) -> None:
    world.apps("a")
    first, second = world.submit("a"), world.submit("a")
    world.pause(first)
    world.cancel(second)
    assert world.state("a") is State.WAITING
    world.resume(first)
    assert world.state("a") is State.READY


def test_a_submission_that_is_paused_before_its_plan_stays_unplanned(world: World) -> None:
    world.apps("a")
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(id="s", app="a", key="1")]))
    world.pause("s")
    world.tick(after_s=60)
    assert world.submission("s") is SubmissionState.RECEIVED
    world.resume("s")
    assert world.ready() == {"a"}


def test_a_paused_submission_can_be_cancelled_and_expires(world: World) -> None:
    world.apps("a, b")
    first = world.submit("a")
    until = (world.now + timedelta(seconds=30)).isoformat()
    second = world.submit("b", policy={"end_before": until})
    world.pause(first)
    world.pause(second)
    world.cancel(first)
    world.tick(after_s=31)
    assert world.states() == {"a": State.CANCELLED, "b": State.EXPIRED}
    assert world.submission(second) is SubmissionState.FAILED


def test_resuming_an_ended_submission_releases_the_jobs_that_it_pushed(world: World) -> None:
    world.apps("a -> c, b -> c")
    pushing = world.submit("a")
    claimed = world.take("a")
    world.pause(pushing)
    world.record(claimed)
    assert world.submission(pushing) is SubmissionState.SUCCEEDED
    world.submit("b", push="wanted")
    world.finish("b")
    assert world.state("c") is State.WAITING
    world.resume(pushing)
    assert world.state("c") is State.READY


def test_a_rerun_by_a_paused_submission_alone_waits(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b")
    world.finish("a", Ending.ERROR)
    assert world.state("b") is State.UPSTREAM_FAILED
    again = world.submit("a", rerun="job", push="wanted")
    world.pause(again)
    assert world.states() == {"a": State.WAITING, "b": State.WAITING}
    assert world.submission(submission) is SubmissionState.FAILED
    world.resume(again)
    assert world.ready() == {"a"}


def test_the_halves_of_a_split_job_wait_during_a_pause(world: World) -> None:
    world.define({"c": {"chunk_size": 4, "bash_cmd": "true", "on_failure": "bisect"}})
    submission = world.submit("c", None, work_ids=[1, 2, 3, 4])
    (whole,) = world.states()
    claimed = world.take(whole)
    world.pause(submission)
    world.record(claimed, Ending.ERROR, error="poison")
    assert sorted(world.states().values()) == [State.SPLIT, State.WAITING, State.WAITING]
    world.resume(submission)
    assert sorted(world.states().values()) == [State.READY, State.READY, State.SPLIT]


def test_pausing_and_resuming_return_the_affected_jobs_or_none(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    transact = world.ledger.transact
    assert transact(lambda tx: pauses.resume(tx, submission)) is None
    assert transact(lambda tx: pauses.pause(tx, submission)) == [world.known("a").id]
    assert transact(lambda tx: pauses.pause(tx, submission)) == []
    assert transact(lambda tx: pauses.pause(tx, "nobody")) is None
    resumed = transact(lambda tx: pauses.resume(tx, submission))
    assert resumed is not None
    assert [ready.app for ready in resumed.ready] == ["a"]
    world.finish("a")
    assert transact(lambda tx: pauses.pause(tx, submission)) is None


def test_a_ledger_with_only_paused_jobs_is_idle(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.pause(submission)
    assert world.ledger.transact(lambda tx: idle(tx, []))
    world.resume(submission)
    assert not world.ledger.transact(lambda tx: idle(tx, []))


def test_a_second_pause_keeps_the_time_of_the_first(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    world.pause(submission)
    first = world.ledger.transact(lambda tx: tx.rows("SELECT paused_at FROM submission"))
    world.now += timedelta(hours=1)
    world.pause(submission)
    assert world.ledger.transact(lambda tx: tx.rows("SELECT paused_at FROM submission")) == first
