"""Definitions that change while jobs of their apps exist."""

from typing import Any

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World


def _needing(*parents: str, **words: object) -> dict[str, Any]:
    """Return apps in which ``child`` needs ``parents``; ``a`` and ``b`` need nothing."""
    child = {"job_id": "{x}", "bash_cmd": "true", **words}
    if parents:
        child["depends_on"] = {"app_name": list(parents)}
    return {"a": {"job_id": "{x}"}, "b": {"job_id": "{x}"}, "child": child}


def test_a_waiting_job_keeps_its_dependencies_until_it_is_requested_again(world: World) -> None:
    world.define(_needing("a"))
    world.submit("child")
    world.define(_needing("b"))
    assert world.ready() == {"a"}
    world.submit("child")
    assert world.ready() == {"a", "b"}
    world.finish("b")
    assert world.state("child") is State.READY, "it does not wait for a any more"


def test_a_push_does_not_plan_a_waiting_job_again(world: World) -> None:
    world.define(_needing("a"))
    asked = world.submit("child")
    # A push that planned ``child`` again would add the parent ``b``, which no submission requests.
    world.define(_needing("a", "b"))
    world.finish("a")
    world.finish("child")
    assert world.submission(asked) is SubmissionState.SUCCEEDED


def test_a_requested_job_is_ready_if_its_dependencies_were_removed(world: World) -> None:
    world.define(_needing("a", "b"))
    world.submit("child")
    world.define(_needing())
    world.submit("child")
    assert world.state("child") is State.READY


def test_a_new_dependency_that_was_met_earlier_counts(world: World) -> None:
    world.define(_needing("a"))
    world.submit("b", push="wanted")
    world.finish("b")
    world.submit("child")
    world.define(_needing("b"))
    world.submit("child")
    assert world.state("child") is State.READY


def test_a_new_dependency_that_cannot_be_met_makes_the_job_upstream_failed(world: World) -> None:
    world.define(_needing("a"))
    world.submit("b", push="wanted")
    world.finish("b", Ending.ERROR)
    world.submit("child")
    world.define(_needing("b"))
    world.submit("child")
    assert world.state("child") is State.UPSTREAM_FAILED


def test_a_changed_timeout_does_not_change_the_digest_of_a_job(world: World) -> None:
    world.define(_needing("a"))
    world.submit("child")
    digest = world.field("child", "digest")
    world.define(_needing("a", timeout="5m"))
    world.submit("child")
    assert world.field("child", "digest") == digest


def test_a_round_records_the_definition_that_its_worker_used(world: World) -> None:
    world.define(_needing())
    world.submit("child")
    world.define(_needing(bash_cmd="exit 0"))
    claimed = world.claim("child")
    assert claimed is not None
    digests = world.ledger.transact(lambda tx: tx.column("SELECT digest FROM round"))
    assert digests == [world.catalogue["child"].digest]
    assert world.field("child", "digest") != digests[0], "its needs are still those it was planned with"


def test_a_succeeded_job_is_not_run_again_for_a_new_definition(world: World) -> None:
    world.define(_needing())
    world.submit("child")
    world.finish("child")
    world.define(_needing("a", bash_cmd="false"))
    world.submit("child")
    assert world.states() == {"child": State.SUCCEEDED}


def test_a_rerun_uses_the_dependencies_of_the_new_definition(world: World) -> None:
    world.define(_needing("a"))
    world.submit("child")
    world.finish("a")
    world.finish("child")
    world.define(_needing("b"))
    world.submit("child", rerun="job")
    assert world.ready() == {"b"}
    world.finish("b")
    assert world.ready() == {"child"}


def test_a_parent_pushes_a_child_that_was_defined_after_its_plan(world: World) -> None:
    world.define({"a": {"job_id": "{x}"}})
    world.submit("a")
    world.define(_needing("a"))
    world.finish("a")
    assert world.ready() == {"child"}


def test_a_job_of_a_removed_app_still_releases_its_child(world: World) -> None:
    world.define(_needing("a"))
    submission = world.submit("child")
    world.define({"child": {"job_id": "{x}", "bash_cmd": "true"}})
    world.finish("a")
    assert world.ready() == {"child"}
    world.finish("child")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_submission_waits_until_the_planner_has_the_definition_of_its_app(world: World) -> None:
    world.define({"a": {"job_id": "{x}"}})
    submission = world.submit("child")
    assert world.submission(submission) is SubmissionState.RECEIVED
    world.define(_needing("a"))
    world.tick(after_s=3)
    assert world.ready() == {"a"}


def test_a_submission_for_an_app_that_stays_undefined_is_refused(world: World) -> None:
    world.define({"a": {"job_id": "{x}"}})
    submission = world.submit("chlid")
    world.tick(after_s=3)
    assert world.submission(submission) is SubmissionState.RECEIVED
    world.tick(after_s=60)
    assert world.reason(submission).startswith("There is no app 'chlid'")
