"""Conditions and alternatives of dependencies: the outcomes of the parents that a child needs."""

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World


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


def test_a_child_may_need_its_parent_to_fail_or_to_finish(world: World) -> None:
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


def test_an_upstream_failed_job_pushes_children_that_need_its_failure(world: World) -> None:
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


def test_a_child_that_needs_a_running_parent_fails_if_the_parent_never_runs(world: World) -> None:
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


def test_all_alternatives_are_requested_if_the_app_sets_pull_all(world: World) -> None:
    _alternatives(world, pull="all")
    world.submit("c")
    assert world.ready() == {"a", "b"}
    world.finish("b")
    assert world.ready() == {"a", "c"}


def test_all_alternatives_are_requested_if_the_submission_sets_pull_all(world: World) -> None:
    _alternatives(world)
    world.submit("c", policy={"pull": "all"})
    assert world.ready() == {"a", "b"}


def test_an_alternative_that_is_already_met_is_chosen(world: World) -> None:
    """A failed parent meets one alternative, so the other is not requested."""
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


def test_the_next_alternative_is_requested_when_one_cannot_be_met(world: World) -> None:
    _alternatives(world)
    submission = world.submit("c")
    assert world.states() == {"a": State.READY, "b": State.EXPECTED, "c": State.WAITING}
    world.finish("a", Ending.ERROR)
    assert world.ready() == {"b"}
    world.finish("b")
    world.finish("c")
    assert world.state("c") is State.SUCCEEDED
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_job_is_upstream_failed_when_its_last_alternative_cannot_be_met(world: World) -> None:
    _alternatives(world)
    world.submit("c")
    world.finish("a", Ending.ERROR)
    world.finish("b", Ending.ERROR)
    assert world.state("c") is State.UPSTREAM_FAILED


def test_one_alternative_is_enough(world: World) -> None:
    _alternatives(world)
    world.submit("b", push="wanted")
    world.finish("b")
    world.submit("c")
    assert world.states() == {"a": State.EXPECTED, "b": State.SUCCEEDED, "c": State.READY}
