"""Definitions that change while jobs of theirs exist."""

from typing import Any

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from tests.world import World


def _needing(*parents: str, **words: object) -> dict[str, Any]:
    """``child`` needs these; ``a`` and ``b`` need nobody."""
    child = {"job_id": "{x}", "bash_cmd": "true", **words}
    if parents:
        child["depends_on"] = {"app_name": list(parents)}
    return {"a": {"job_id": "{x}"}, "b": {"job_id": "{x}"}, "child": child}


def test_a_waiting_job_keeps_its_needs_until_it_is_asked_for_again(world: World) -> None:
    world.define(_needing("a"))
    world.submit("child")
    world.define(_needing("b"))
    assert world.ready() == {"a"}
    world.submit("child")
    assert world.ready() == {"a", "b"}
    world.finish("b")
    assert world.state("child") is State.READY, "it does not wait for a any more"


def test_a_push_does_not_ask_for_a_job_anew(world: World) -> None:
    world.define(_needing("a"))
    asked = world.submit("child")
    # A push would name ``b`` as a parent, and nobody would ask for it.
    world.define(_needing("a", "b"))
    world.finish("a")
    world.finish("child")
    assert world.submission(asked) is SubmissionState.SUCCEEDED


def test_a_waiting_job_that_needs_nobody_any_more_is_ready_when_it_is_asked_for(world: World) -> None:
    world.define(_needing("a", "b"))
    world.submit("child")
    world.define(_needing())
    world.submit("child")
    assert world.state("child") is State.READY


def test_a_new_need_that_has_been_met_long_ago_counts(world: World) -> None:
    world.define(_needing("a"))
    world.submit("b", push="wanted")
    world.finish("b")
    world.submit("child")
    world.define(_needing("b"))
    world.submit("child")
    assert world.state("child") is State.READY


def test_a_new_need_that_cannot_be_met_strands(world: World) -> None:
    world.define(_needing("a"))
    world.submit("b", push="wanted")
    world.finish("b", Ending.ERROR)
    world.submit("child")
    world.define(_needing("b"))
    world.submit("child")
    assert world.state("child") is State.UPSTREAM_FAILED


def test_what_changes_nothing_of_the_work_leaves_the_needs_alone(world: World) -> None:
    world.define(_needing("a"))
    world.submit("child")
    digest = world.field("child", "digest")
    world.define(_needing("a", timeout="5m"))
    world.submit("child")
    assert world.field("child", "digest") == digest


def test_a_ready_job_runs_by_the_definition_of_its_worker_and_the_round_says_which(world: World) -> None:
    world.define(_needing())
    world.submit("child")
    world.define(_needing(bash_cmd="exit 0"))
    claimed = world.claim("child")
    assert claimed is not None
    digests = world.ledger.transact(lambda tx: tx.column("SELECT digest FROM round"))
    assert digests == [world.catalogue["child"].digest]
    assert world.field("child", "digest") != digests[0], "its needs are still those it was planned with"


def test_what_has_succeeded_is_not_run_again_for_a_new_definition(world: World) -> None:
    world.define(_needing())
    world.submit("child")
    world.finish("child")
    world.define(_needing("a", bash_cmd="false"))
    world.submit("child")
    assert world.states() == {"child": State.SUCCEEDED}


def test_what_is_run_again_needs_what_the_new_definition_says(world: World) -> None:
    world.define(_needing("a"))
    world.submit("child")
    world.finish("a")
    world.finish("child")
    world.define(_needing("b"))
    world.submit("child", rerun="job")
    assert world.ready() == {"b"}
    world.finish("b")
    assert world.ready() == {"child"}


def test_a_new_child_is_pushed_by_a_parent_that_was_planned_before_it_was_defined(world: World) -> None:
    world.define({"a": {"job_id": "{x}"}})
    world.submit("a")
    world.define(_needing("a"))
    world.finish("a")
    assert world.ready() == {"child"}


def test_an_app_that_has_left_pushes_nothing_and_holds_up_nobody(world: World) -> None:
    world.define(_needing("a"))
    submission = world.submit("child")
    world.define({"child": {"job_id": "{x}", "bash_cmd": "true"}})
    world.finish("a")
    assert world.ready() == {"child"}
    world.finish("child")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_submission_may_come_before_the_planner_has_heard_of_its_app(world: World) -> None:
    world.define({"a": {"job_id": "{x}"}})
    submission = world.submit("child")
    assert world.submission(submission) is SubmissionState.RECEIVED
    world.define(_needing("a"))
    world.tick(after_s=3)
    assert world.ready() == {"a"}


def test_an_app_that_does_not_come_is_refused(world: World) -> None:
    world.define({"a": {"job_id": "{x}"}})
    submission = world.submit("chlid")
    world.tick(after_s=3)
    assert world.submission(submission) is SubmissionState.RECEIVED
    world.tick(after_s=60)
    assert world.reason(submission).startswith("There is no app 'chlid'")
