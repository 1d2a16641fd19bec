"""Submissions that make steps fail for debugging. The planner refuses them for apps without steps, whatever their keys
are."""

from typing import Any

import pytest

from sluice.jobs.model.submission import SubmissionState
from tests.jobs.catalogue.faults_of_sagas import SAGA
from tests.world import World

DEBUG = {"debug": {"fail_at": {"0": "fatal"}}}
KEYED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "template": ({"job_id": "{x}"}, {"key": "1"}),
    "chunk": ({"chunk_size": 5}, {"key": None, "work_ids": [1, 2]}),
    "partition": ({"step_size": 1}, {"key": None, "start": "2026-01-01", "end": "2026-01-02"}),
}


@pytest.mark.parametrize("keyed", KEYED)
def test_a_debug_policy_for_an_app_without_steps_is_refused(world: World, keyed: str) -> None:
    words, wanted = KEYED[keyed]
    world.define({"a": {**words, "bash_cmd": "true"}})
    refused, taken = world.submit("a", policy=DEBUG, **wanted), world.submit("a", **wanted)
    assert world.submission(refused) is SubmissionState.REFUSED
    assert "debug: a is no saga, so it has no steps that could fail" in world.reason(refused)
    assert world.submission(taken) is SubmissionState.ACTIVE


def test_a_saga_keeps_its_debug_policy(world: World) -> None:
    """The dependency is no saga, and is planned without the debug policy."""
    world.define(
        {
            "p": {"job_id": "{x}", "bash_cmd": "true"},
            "a": {**SAGA, "job_id": "{x}", "depends_on": {"app_name": ["p"]}},
        }
    )
    assert world.submission(world.submit("a", policy=DEBUG)) is SubmissionState.ACTIVE
    assert world.ready() == {"p"}
    world.finish("p")
    assert world.ready() == {"a"}
    claimed = world.claim("a")
    assert claimed is not None
    assert claimed.overrides == DEBUG
