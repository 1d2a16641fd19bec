"""Reruns: the terms of jobs that run again, and the jobs that run again with them."""

from datetime import timedelta

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.world import World


def test_a_rerun_job_gets_the_terms_of_the_submission_that_reruns_it(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a", kwargs={"n": 1})
    world.finish("a")
    world.submit("a", rerun="job", kwargs={"n": 2}, policy={"max_fails": 3, "priority": 7})
    assert (world.field("a", "kwargs"), world.field("a", "max_fails")) == ({"n": 2}, 3)
    assert world.field("a", "priority") == 7


def test_a_cancelled_job_gets_the_terms_of_its_new_submission(world: World) -> None:
    world.apps("a")
    world.cancel(world.submit("a", kwargs={"n": 1}))
    world.submit("a", kwargs={"n": 2})
    assert world.field("a", "kwargs") == {"n": 2}


def test_a_rerun_keeps_earlier_terms_that_its_submission_does_not_set(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a", kwargs={"n": 1}, policy={"max_fails": 4, "timeout": "9s", "priority": 2})
    world.finish("a")
    world.apps("a", max_fails=2, max_losses=7)
    world.submit("a", rerun="job", policy={"timeout": "5s"})
    terms = ("kwargs", "max_fails", "max_losses", "timeout_s", "priority")
    assert [world.field("a", term) for term in terms] == [{"n": 1}, 4, 7, 5.0, 2]
    assert world.field("a", "overrides") == {"max_fails": 4, "timeout": "5s", "priority": 2}


def test_a_job_that_is_revived_with_its_parent_still_waits_for_its_start_time(world: World) -> None:
    world.apps("a -> b")
    start = (world.now + timedelta(hours=1)).isoformat()
    world.define({**world.defined, "b": world.defined["b"] | {"start_after": start}})
    world.submit("b", push="wanted")
    world.finish("a", Ending.ERROR)
    assert world.state("b") is State.UPSTREAM_FAILED
    world.submit("a", rerun="job")
    world.finish("a")
    assert world.state("b") is State.WAITING
    world.tick(after_s=3599)
    assert world.state("b") is State.WAITING
    world.tick(after_s=1)
    assert world.state("b") is State.READY


def test_a_cancelled_job_that_is_requested_again_keeps_its_start_time(world: World) -> None:
    world.apps("a")
    start = world.now + timedelta(hours=1)
    world.cancel(world.submit("a", policy={"start_after": start.isoformat()}))
    again = world.submit("a")
    assert (world.state("a"), world.field("a", "not_before")) == (State.WAITING, start)
    world.cancel(again)
    world.submit("a", policy={"start_after": world.now.isoformat()})
    assert world.state("a") is State.READY


def test_a_job_that_is_requested_again_does_not_wait_for_its_retry_delay(world: World) -> None:
    world.apps("a", max_fails=1, retry={"rule": "fixed", "seconds": 3600})
    submission = world.submit("a")
    world.finish("a", Ending.ERROR)
    world.cancel(submission)
    world.submit("a")
    assert world.state("a") is State.READY


def test_a_rerun_keeps_a_deadline_until_it_has_passed(world: World) -> None:
    world.apps("a")
    deadline = "2026-01-01T00:01:00Z"
    world.submit("a", policy={"end_before": deadline})
    world.finish("a")
    world.submit("a", rerun="job")
    assert world.field("a", "end_before") is not None
    world.tick(after_s=120)
    assert world.state("a") is State.EXPIRED
    world.submit("a", rerun="job")
    assert (world.state("a"), world.field("a", "end_before")) == (State.READY, None)


def test_a_descendant_that_runs_again_keeps_its_own_terms(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", kwargs={"n": 1})
    world.finish("a")
    world.finish("b")
    world.submit("a", rerun="downstream", kwargs={"n": 2})
    assert (world.field("a", "kwargs"), world.field("b", "kwargs")) == ({"n": 2}, {"n": 1})


def test_the_failed_parent_of_a_new_job_is_rerun_with_it(world: World) -> None:
    world.apps("a -> d")
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    world.submit("d", rerun="job")
    assert world.states() == {"a": State.READY, "d": State.WAITING}


def test_a_rerun_includes_a_parent_that_has_failed_since_its_need_was_met(world: World) -> None:
    world.apps("a -> b", max_fails=0)
    world.submit("b", push="wanted")
    world.finish("a")
    world.finish("b", Ending.ERROR)
    world.submit("a", rerun="job", push="wanted")
    world.finish("a", Ending.ERROR)
    world.submit("b", rerun="job", push="wanted")
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_a_rerun_includes_a_parent_that_had_to_run_and_has_failed(world: World) -> None:
    world.apps("a -> b", max_fails=0)
    needs = {"depends_on": {"app_name": ["a"], "when": "running"}}
    world.define({**world.defined, "b": world.defined["b"] | needs})
    world.submit("b", push="wanted")
    claimed = world.take("a")
    world.finish("b", Ending.ERROR)
    world.record(claimed, Ending.ERROR, error="it broke")
    world.submit("b", rerun="job", push="wanted")
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_a_rerun_does_not_run_a_job_that_fails_its_filter(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}", "valid_if_or": {"x": ["9"]}},
            "b": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
        }
    )
    world.submit("b")
    for asked in ("b", "a"):
        world.submit(asked, rerun="job")
        assert world.states() == {"a": State.SKIPPED, "b": State.SKIPPED}


def test_a_rerun_after_a_changed_filter_includes_the_children_that_were_skipped(world: World) -> None:
    apps = {
        "a": {"job_id": "{x}", "valid_if_or": {"x": ["9"]}},
        "b": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
    }
    world.define(apps)
    world.submit("b")
    apps["a"]["valid_if_or"] = {"x": ["1"]}
    world.define(apps)
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_a_later_submission_raises_the_priority_of_a_waiting_job_but_does_not_lower_it(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.submit("b", policy={"priority": 5})
    assert (world.field("a", "priority"), world.field("b", "priority")) == (5, 5)
    world.submit("b", policy={"priority": 2})
    assert world.field("b", "priority") == 5


def test_equally_urgent_jobs_are_announced_in_the_order_they_were_requested(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=["3", "1", "2"])
    names = [world.known(f"a/{key}").id for key in ("3", "1", "2")]
    assert [turn.job for message in world.offered for turn in message.jobs] == names
