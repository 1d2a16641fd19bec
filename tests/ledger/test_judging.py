"""Judgement, and how success and failure reach the children."""

from datetime import timedelta

from jobs.outcome import Ending
from jobs.states import State
from jobs.submission import SubmissionState
from ledger import grooming
from tests.world import LEASE_S, World


def test_a_failing_job_is_tried_as_often_as_its_policy_says(world: World) -> None:
    world.apps("a", max_fails=2)
    submission = world.submit("a")
    for fails in (1, 2):
        world.finish("a", Ending.ERROR)
        assert (world.state("a"), world.round("a")) == (State.READY, fails)
    world.finish("a", Ending.ERROR)
    assert world.state("a") is State.FAILED
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_retry_waits_as_long_as_its_rule_says(world: World) -> None:
    world.apps("a", max_fails=3, retry={"rule": "exponential", "seconds": 10})
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.tick(after_s=9)
    assert world.state("a") is State.WAITING
    world.tick(after_s=1)
    assert world.state("a") is State.READY
    world.finish("a", Ending.ERROR)
    world.tick(after_s=19)
    assert world.state("a") is State.WAITING
    world.tick(after_s=1)
    assert world.state("a") is State.READY


def test_failure_strands_descendants_at_any_depth_at_once(world: World) -> None:
    world.apps("a -> b -> c -> d")
    world.submit("d")
    world.finish("a", Ending.ERROR)
    states = world.states()
    assert states.pop("a") is State.FAILED
    assert set(states.values()) == {State.UPSTREAM_FAILED}


def test_a_child_of_a_failed_parent_is_stranded_when_it_is_planned(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    submission = world.submit("b")
    assert world.history("b") == ["waiting", "upstream_failed"]
    assert world.submission(submission) is SubmissionState.FAILED


def test_running_a_failed_parent_again_revives_what_it_had_stranded(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.finish("a", Ending.ERROR)
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_running_a_stranded_job_again_runs_its_dead_ancestors_too(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.finish("a", Ending.ERROR)
    submission = world.submit("c", rerun="job")
    assert world.ready() == {"a"}
    for job in "abc":
        world.finish(job)
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_rerun_job_leaves_what_has_succeeded_downstream_alone(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a")
    world.finish("b")
    world.submit("a", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.SUCCEEDED}


def test_rerun_downstream_runs_everything_after_it_in_order(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    for job in "abc":
        world.finish(job)
    world.submit("a", rerun="downstream")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert world.history("c").count("succeeded") == 2


def test_a_revived_job_begins_a_new_life(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.finish("a", Ending.ERROR)
    assert world.field("a", "fails") == 2
    world.submit("a", rerun="job")
    assert (world.field("a", "fails"), world.round("a"), world.field("a", "claim")) == (0, 0, 2)


def test_a_job_that_ends_after_its_deadline_is_expired_by_its_recorded_time(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", policy={"end_before": "2026-01-01T00:01:00Z"})
    claimed = world.claim("a")
    assert claimed is not None
    world.now = world.now.replace(minute=1, second=1)
    world.beat(world.worker)
    assert world.record(claimed)
    assert world.state("a") is State.EXPIRED
    assert world.state("b") is State.UPSTREAM_FAILED


def test_whatever_waits_past_its_deadline_is_expired(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("b", policy={"end_before": "2026-01-01T00:01:00Z"})
    world.tick(after_s=61)
    assert set(world.states().values()) <= {State.EXPIRED, State.UPSTREAM_FAILED}
    world.tick(after_s=1)
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_saga_that_could_not_undo_is_fatal_whatever_tries_are_left(world: World) -> None:
    world.apps("a", max_fails=5)
    world.submit("a")
    world.finish("a", Ending.DISMAL)
    assert world.state("a") is State.FATAL


def test_children_wait_for_a_failure_where_that_is_what_they_need(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "cleanup": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "when": "failed"}},
            "report": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "when": "finished"}},
        }
    )
    world.submit("cleanup")
    world.submit("report")
    world.finish("a", Ending.ERROR)
    assert world.ready() == {"cleanup", "report"}
    world.submit("cleanup", "2")
    world.finish("a/2")
    assert world.state("cleanup/2") is State.SKIPPED


def test_a_failure_pushes_the_children_that_need_it(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "cleanup": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "when": "failed"}},
            "report": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "when": "finished"}},
            "publish": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
        }
    )
    failing, fine = world.submit("a"), world.submit("a", "2")
    world.finish("a", Ending.ERROR)
    world.finish("a/2")
    assert world.ready() == {"cleanup", "report", "report/2", "publish/2"}
    for job in sorted(world.ready()):
        world.finish(job)
    assert world.submission(failing) is SubmissionState.FAILED
    assert world.submission(fine) is SubmissionState.SUCCEEDED


def test_the_end_of_a_stranded_job_pushes_too(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
            "alarm": {"job_id": "{x}", "depends_on": {"app_name": ["b"], "when": "failed"}},
        }
    )
    submission = world.submit("b")
    world.finish("a", Ending.ERROR)
    assert world.state("b") is State.UPSTREAM_FAILED
    world.tick(after_s=3)
    assert world.ready() == {"alarm"}
    world.finish("alarm")
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_submission_ends_with_the_grandchild_that_it_waited_for(world: World) -> None:
    _alternatives(world)
    world.define({**world.defined, "d": {"job_id": "{x}", "depends_on": {"app_name": ["c"]}}})
    submission = world.submit("d", push="wanted")
    world.finish("a", Ending.ERROR)
    world.finish("b", Ending.ERROR)
    assert world.state("d") is State.UPSTREAM_FAILED
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_child_that_needs_its_parent_to_run_is_released_by_the_claim(world: World) -> None:
    world.define(
        {
            "stream": {"job_id": "{x}"},
            "reader": {"job_id": "{x}", "depends_on": {"app_name": ["stream"], "when": "running"}},
        }
    )
    world.submit("reader")
    assert world.ready() == {"stream"}
    claimed = world.claim("stream")
    assert claimed is not None
    assert world.ready() == {"reader"}
    world.submit("reader", "2")
    world.record(claimed)
    world.finish("reader")
    world.finish("stream/2")
    assert world.ready() == {"reader/2"}


def test_a_child_of_a_parent_that_never_ran_is_stranded_where_it_needs_it_to_run(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "stream": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
            "reader": {"job_id": "{x}", "depends_on": {"app_name": ["stream"], "when": "running"}},
        }
    )
    world.submit("reader")
    world.finish("a", Ending.ERROR)
    assert world.states() == {
        "a": State.FAILED,
        "stream": State.UPSTREAM_FAILED,
        "reader": State.UPSTREAM_FAILED,
    }


def test_all_alternatives_are_asked_for_where_the_app_says_so(world: World) -> None:
    _alternatives(world, pull="all")
    world.submit("c")
    assert world.ready() == {"a", "b"}
    world.finish("b")
    assert world.ready() == {"a", "c"}


def test_all_alternatives_are_asked_for_where_the_submission_says_so(world: World) -> None:
    _alternatives(world)
    world.submit("c", policy={"pull": "all"})
    assert world.ready() == {"a", "b"}


def test_an_alternative_is_chosen_by_what_it_needs_of_its_parents(world: World) -> None:
    """A failed parent has what one alternative needs, so the other is not asked for."""
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {"job_id": "{x}"},
            "c": {
                "job_id": "{x}",
                "depends_on": {
                    "first": {"app_name": ["b"]},
                    "second": {"app_name": ["a"], "when": "failed"},
                },
            },
        }
    )
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    world.submit("c")
    assert world.ready() == {"c"}


def _alternatives(world: World, **words: str) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {"job_id": "{x}"},
            "c": {
                "job_id": "{x}",
                "depends_on": {"first": {"app_name": ["a"]}, "second": {"app_name": ["b"]}},
                **words,
            },
        }
    )


def test_alternatives_are_asked_for_in_order_and_the_next_when_one_dies(world: World) -> None:
    _alternatives(world)
    submission = world.submit("c")
    assert world.states() == {"a": State.READY, "b": State.EXPECTED, "c": State.WAITING}
    world.finish("a", Ending.ERROR)
    assert world.ready() == {"b"}
    world.finish("b")
    world.finish("c")
    assert world.state("c") is State.SUCCEEDED
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_one_alternative_is_enough(world: World) -> None:
    _alternatives(world)
    world.submit("b", push="wanted")
    world.finish("b")
    world.submit("c")
    assert world.states() == {"a": State.EXPECTED, "b": State.SUCCEEDED, "c": State.READY}


def test_a_job_is_stranded_when_its_last_alternative_dies(world: World) -> None:
    _alternatives(world)
    world.submit("c")
    world.finish("a", Ending.ERROR)
    world.finish("b", Ending.ERROR)
    assert world.state("c") is State.UPSTREAM_FAILED


def test_a_death_that_was_not_told_is_noticed_when_another_parent_runs_again(world: World) -> None:
    """Counting a child anew for one parent's sake must not swallow the news of another's end."""
    world.apps("a -> c, b -> c", max_losses=0)
    world.submit("c")
    world.finish("b")
    assert world.claim("a", worker=world.hire())
    world.now += timedelta(seconds=LEASE_S + 1)
    world.ledger.transact(lambda tx: grooming.take_lost(tx, 10))
    world.submit("b", rerun="job")
    assert world.states() == {"a": State.FAILED, "b": State.READY, "c": State.UPSTREAM_FAILED}
