"""Signed sources in the console: the view role does not see the query, which permits fetching the program of a job."""

import json
from typing import Any

import pytest

from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from tests.ops.console_client import HERE, console_of, told
from tests.world import World

SIGNED = "https://store.example.org/sum.zip?X-Amz-Signature=5f2a"


@pytest.fixture
def world_with_an_app(world: World) -> World:
    world.apps("a")
    return world


def test_the_query_of_a_source_is_masked_in_a_submission(world_with_an_app: World) -> None:
    kwargs = {"source": SIGNED, "input": "https://me:secret@example.org/1?page=2"}
    id_ = world_with_an_app.submit("a", kwargs=kwargs)
    request = _as_a_viewer(world_with_an_app, id_)["request"]
    assert request["kwargs"] == {
        "source": "https://store.example.org/sum.zip?***",
        "input": "https://***@example.org/1?page=2",
    }
    assert (request["app"], request["key"]) == ("a", "1")


@pytest.mark.parametrize("kwargs", [None, ["source"], "source"])
def test_a_submission_with_invalid_kwargs_is_shown(world_with_an_app: World, kwargs: Any) -> None:
    """A client that submits by SQL can send any kwargs. The planner refuses these."""
    asked = {"app": "a", "key": "1", "id": "odd", "kwargs": kwargs}
    submit = "SELECT sluice.submit(%(asked)s::jsonb)"
    world_with_an_app.ledger.transact(lambda tx: tx.column(submit, asked=json.dumps(asked)))
    assert _as_a_viewer(world_with_an_app, "odd")["request"]["kwargs"] == kwargs


def _as_a_viewer(world: World, submission: str) -> Any:
    answer = console_of(world, AccessControl("may act", "may look")).answer(
        Request(
            method="GET",
            path=f"/api/submissions/{submission}",
            query="",
            headers={**HERE, "authorization": "Bearer may look"},
            body=b"",
        )
    )
    assert answer.status == 200, answer
    return told(answer)
