"""Policies of submissions, for every way to submit and every kind of key, from the planner to the job."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.lifecycle import submissions
from tests.ledger.lineages import lineage
from tests.world import World

APPS: dict[str, Any] = {
    "one": {"job_id": "{n}", "bash_cmd": "true"},
    "chunks": {"chunk_size": 2, "bash_cmd": "true"},
    **lineage("days"),
}
WANTED: dict[str, dict[str, Any]] = {
    "one": {"key": "1"},
    "chunks": {"work_ids": [1, 2, 3]},
    "days": {"start": "2024-04-01", "end": "2024-04-02"},
}
THEIRS = {"env": {"BASH_ENV": "own.sh"}}


def _by_message(world: World, wanted: dict[str, Any]) -> str:
    return world.submit(**{"key": None, **wanted})


def _by_program(world: World, wanted: dict[str, Any]) -> str:
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(id="theirs", **wanted)]))
    world.tick(after_s=60)
    return "theirs"


def _by_sql(world: World, wanted: dict[str, Any]) -> str:
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT sluice.submit(%s::jsonb)", [json.dumps({"id": "theirs", **wanted})])
    world.now = datetime.now(UTC)  # The function writes the time of the server.
    world.tick(after_s=60)
    return "theirs"


@pytest.mark.parametrize("way", [_by_message, _by_program, _by_sql])
@pytest.mark.parametrize("app", WANTED)
def test_env_in_a_policy_is_refused_unless_the_app_permits_it(
    way: Callable[[World, dict[str, Any]], str], app: str, world: World
) -> None:
    world.define(APPS)
    id_ = way(world, {"app": app, **WANTED[app], "policy": THEIRS})
    assert world.submission(id_) is SubmissionState.REFUSED
    assert "policy: env: only the app's definition may set it" in world.reason(id_)
    assert world.states() == {}


@pytest.mark.parametrize("app", WANTED)
def test_env_in_a_policy_reaches_the_jobs_if_the_app_permits_it(app: str, world: World) -> None:
    world.define({name: words | {"submitters_may_set": ["env"]} for name, words in APPS.items()})
    world.submit(**{"app": app, "key": None, **WANTED[app], "policy": THEIRS})
    for job in world.states():
        assert world.field(job, "overrides") == THEIRS
    assert world.states()


def test_a_pushed_child_does_not_inherit_options_that_its_app_does_not_permit(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{n}", "bash_cmd": "true", "submitters_may_set": ["env"]},
            "b": {"job_id": "{n}", "bash_cmd": "true", "depends_on": {"app_name": ["a"]}},
        }
    )
    world.submit("a", policy=THEIRS | {"priority": 2})
    world.finish("a")
    assert world.field("b", "overrides") == {"priority": 2}
