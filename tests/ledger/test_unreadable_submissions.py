"""Unreadable submissions: each is refused alone, in whatever way it got into the ledger."""

import json

import psycopg
import pytest
from psycopg.errors import InvalidParameterValue

from sluice.actors.client import Client
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.request_limits import BYTES_MAX, DEPTH_MAX, KWARGS_BYTES_MAX, POLICY_BYTES_MAX
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.reads import submission_lists, submission_progress
from tests.world import World


def deep(levels: int) -> str:
    """Return a submission with this nesting depth."""
    inside = levels - 1
    return '{"app": "a", "key": "1", "kwargs": ' + '{"x": ' * inside + "1" + "}" * inside + "}"


LARGE = json.dumps({"app": "a", "key": "1", "kwargs": {"x": "y" * BYTES_MAX}})
LARGEST = json.dumps({"app": "a", "key": "3", "kwargs": {"x": "y" * (KWARGS_BYTES_MAX - 10)}})
#: Submissions that no planner can read, each with a part of the reason.
POISON = {
    "a list": ("[]", "Expected `object`"),
    "a text": ('"x"', "Expected `object`"),
    "null": ("null", "Expected `object`"),
    "a huge number": ('{"app": "a", "key": "1", "kwargs": {"x": 1e5000}}', "308 digits"),
    "many huge numbers": (
        '{"app": "a", "key": "1", "kwargs": {"x": [' + ",".join(["1e99999"] * 50_000) + "]}}",
        "308 digits",
    ),
    "deep": (deep(2000), f"deeper than {DEPTH_MAX} levels"),
    "barely too deep": (deep(DEPTH_MAX + 1), f"deeper than {DEPTH_MAX} levels"),
    "keys that are a number": ('{"app": "a", "keys": 7}', "keys"),
    "large kwargs": (json.dumps({"app": "a", "key": "1", "kwargs": {"x": "y" * KWARGS_BYTES_MAX}}), "kwargs"),
    "large policy": (
        json.dumps({"app": "a", "key": "1", "policy": {"env": {"A": "x" * POLICY_BYTES_MAX}}}),
        "Its policy has 8208 bytes; at most 8192 are accepted.",
    ),
    "kwargs that are a number": ('{"app": "a", "key": "1", "kwargs": 7}', "kwargs"),
}


def write_past_the_function(world: World, id: str, request: str) -> None:
    """Write the row as a program with rights to the table may, or as an earlier version of the function did."""
    world.ledger.transact(
        lambda tx: tx.write(
            "INSERT INTO submission (id, app, state, request, push, received_at)"
            " VALUES (%(id)s, 'a', 'received', %(request)s::jsonb, true, %(now)s)",
            id=id,
            request=request,
        )
    )


@pytest.mark.parametrize("what", POISON)
def test_a_bad_row_is_refused_with_its_reason_and_valid_rows_are_planned(
    world: World, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    request, reason = POISON[what]
    world.apps("a")
    write_past_the_function(world, "before", '{"app": "a", "key": "before", "id": "before"}')
    write_past_the_function(world, "poison", request)
    write_past_the_function(world, "after", '{"app": "a", "key": "after", "id": "after"}')
    world.tick(after_s=5)
    assert world.ready() == {"a/before", "a/after"}
    assert world.submission("poison") is SubmissionState.REFUSED
    assert reason in world.reason("poison")
    (logged,) = caplog.records
    assert "'poison'" in logged.getMessage()
    assert reason in logged.getMessage()


def test_bad_rows_can_be_listed_and_opened(world: World) -> None:
    for what, (request, _) in POISON.items():
        write_past_the_function(world, what, request)
    with world.ledger.begin() as tx:
        assert {each.id for each in submission_progress.recent(tx, 20)} == set(POISON)
        for what in POISON:
            assert submission_lists.one(tx, what) is not None
            assert isinstance(submission_lists.request(tx, what), dict)


REFUSED_BY_SQL = {
    **{what: POISON[what][0] for what in ("a list", "a text", "null", "a huge number", "many huge numbers")},
    **{what: POISON[what][0] for what in ("deep", "barely too deep", "large kwargs", "large policy")},
    "no request": None,
    "large": LARGE,
    "large, with small kwargs": json.dumps({"app": "a", "key": "y" * BYTES_MAX}),
    "long id": json.dumps({"app": "a", "id": "x" * 201}),
    "empty id": '{"app": "a", "id": ""}',
    "id that is a number": '{"app": "a", "id": 7}',
    "id of a compensation": '{"app": "a", "id": "s/compensation"}',
}


def test_submit_in_sql_refuses_bad_requests_at_once(world: World) -> None:
    with psycopg.connect(world.url, autocommit=True) as connection:
        for request in REFUSED_BY_SQL.values():
            with pytest.raises(InvalidParameterValue, match="is refused"):
                connection.execute("SELECT sluice.submit(%s::jsonb)", (request,))
    assert world.ledger.transact(lambda tx: submission_progress.recent(tx, 10)) == []


def test_submit_in_sql_accepts_requests_at_the_limits(world: World) -> None:
    world.apps("a")
    world.now = world.now.replace(year=2100)
    with psycopg.connect(world.url) as connection:
        for request in (deep(DEPTH_MAX), LARGEST, json.dumps({"app": "a", "key": "2", "id": "x" * 200})):
            connection.execute("SELECT sluice.submit(%s::jsonb)", (request,))
    world.tick()
    assert world.states() == {"a": State.READY, "a/2": State.READY, "a/3": State.READY}


def nested_kwargs(levels: int) -> dict[str, object]:
    words: dict[str, object] = {}
    for _ in range(levels - 1):
        words = {"x": words}
    return words


UNFIT = {
    "deep": nested_kwargs(DEPTH_MAX + 1),
    "very deep": nested_kwargs(5000),
    "large": {"x": "y" * KWARGS_BYTES_MAX},
    "a huge number": {"x": 10**400},
    "no JSON": {"x": object()},
}


def test_a_client_refuses_a_large_policy(world: World) -> None:
    client = Client(world.ledger, lambda _: None)
    with pytest.raises(BadRequest, match="Its policy has 8208 bytes; at most 8192 are accepted"):
        client.submit(Submission(app="a", key="1", policy={"env": {"A": "x" * POLICY_BYTES_MAX}}))


def test_a_client_refuses_unfit_kwargs_and_writes_nothing(world: World) -> None:
    client = Client(world.ledger, lambda _: None)
    for kwargs in UNFIT.values():
        with pytest.raises(BadRequest):
            client.submit(Submission(app="a", key="1", kwargs=kwargs))
    assert world.ledger.transact(lambda tx: submission_progress.recent(tx, 10)) == []
