"""Ids of submissions: repeated, used for another request, and free again after a refusal."""

import json
import threading
from typing import Any

import msgspec
import psycopg
import pytest
from msgspec import Raw
from psycopg.errors import UniqueViolation

from sluice.actors.client import Client
from sluice.broker.messages import Plan, SubmitMany
from sluice.jobs.errors import Conflict
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle import submissions
from sluice.ledger.reads import submission_progress
from sluice.ledger.stats.event_counters import CounterName, happened
from tests.world import World

KEYED = {"app": "a", "key": "1", "id": "x"}
#: Requests that are equal to ``KEYED`` and written in another way.
SAME: dict[str, dict[str, Any]] = {
    "in another order": {"id": "x", "key": "1", "app": "a"},
    "with defaults": KEYED | {"push": "all", "kwargs": {}, "policy": {}, "keys": None, "mode": None},
    "in another trace": KEYED | {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
}
OTHER: dict[str, dict[str, Any]] = {
    "another app": KEYED | {"app": "b"},
    "another key": KEYED | {"key": "2"},
    "several keys": {"app": "a", "keys": ["1"], "id": "x"},
    "kwargs": KEYED | {"kwargs": {"x": None}},
    "another user": KEYED | {"user": "ann"},
    "a policy": KEYED | {"policy": {"priority": 1}},
    "a rerun": KEYED | {"rerun": "job"},
}


def by_client(world: World, request: dict[str, Any]) -> None:
    Client(world.ledger, lambda _: None).submit(msgspec.convert(request, Submission))


def by_sql(world: World, request: dict[str, Any]) -> None:
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT sluice.submit(%s::jsonb)", (json.dumps(request),))


def by_message(world: World, request: dict[str, Any], message: str = "m") -> None:
    world.queue.append(SubmitMany(submissions=(Raw(msgspec.json.encode(request)),), id=message))
    world.deliver()


WAYS = {"client": by_client, "sql": by_sql, "message": by_message}


def listed(world: World) -> dict[str, SubmissionState]:
    return {
        each.id: each.state for each in world.ledger.transact(lambda tx: submission_progress.recent(tx, 50))
    }


def refusals(world: World) -> int:
    return world.ledger.transact(happened).get((CounterName.SUBMISSION_REFUSED, ""), 0)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_request_under_one_id_is_one_submission(
    world: World, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.apps("a")
    WAYS[way](world, KEYED)
    for again in WAYS.values():
        for same in SAME.values():
            again(world, same)
    assert list(listed(world)) == ["x"]
    assert (refusals(world), caplog.records) == (0, [])


@pytest.mark.parametrize("way", WAYS)
def test_another_request_under_an_existing_id_is_a_conflict(world: World, way: str) -> None:
    world.apps("a, b")
    WAYS[way](world, KEYED)
    for other in OTHER.values():
        with pytest.raises(Conflict, match="Submission x exists"):
            by_client(world, other)
        with pytest.raises(UniqueViolation, match="Submission x exists"):
            by_sql(world, other)
    assert list(listed(world)) == ["x"]


def test_a_conflict_by_message_is_kept_as_a_refused_submission_and_logged_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.apps("a")
    by_message(world, KEYED)
    for _ in range(3):
        by_message(world, OTHER["another key"], message="second")
    assert listed(world) == {"x": SubmissionState.ACTIVE, "second/0": SubmissionState.REFUSED}
    assert "Submission x exists" in world.reason("second/0")
    assert (refusals(world), len(caplog.records)) == (1, 1)
    assert world.states() == {"a": State.READY}


def test_a_conflicting_message_is_refused_under_an_id_derived_from_its_own(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", id="x")
    world.submit("a", "2", id="x")
    assert listed(world) == {"x": SubmissionState.ACTIVE, "x/conflict": SubmissionState.REFUSED}


def test_of_two_requests_under_one_id_in_one_message_the_first_counts(world: World) -> None:
    world.apps("a")
    rows = (KEYED, SAME["in another order"], OTHER["another key"])
    world.queue.append(SubmitMany(submissions=tuple(Raw(msgspec.json.encode(row)) for row in rows), id="m"))
    world.deliver()
    assert listed(world) == {"x": SubmissionState.ACTIVE, "m/2": SubmissionState.REFUSED}
    assert world.states() == {"a": State.READY}


@pytest.mark.parametrize("is_first", [False, True])
def test_a_bad_row_does_not_take_the_id_of_a_valid_one(world: World, is_first: bool) -> None:
    world.apps("a")
    rows = [KEYED, KEYED | {"kee": 1}][:: -1 if is_first else 1]
    world.queue.append(SubmitMany(submissions=tuple(Raw(msgspec.json.encode(row)) for row in rows), id="m"))
    world.deliver()
    refused = f"m/{0 if is_first else 1}"
    assert listed(world) == {"x": SubmissionState.ACTIVE, refused: SubmissionState.REFUSED}
    assert "kee" in world.reason(refused)


def test_a_conflict_rejects_the_whole_call(world: World) -> None:
    by_client(world, KEYED)
    wanted = [Submission(app="a", key="9", id="new"), Submission(app="a", key="2", id="x")]
    with pytest.raises(Conflict):
        Client(world.ledger, lambda _: None).submit_many(wanted)
    assert list(listed(world)) == ["x"]


@pytest.mark.parametrize("again", WAYS)
def test_the_id_of_a_refused_submission_may_be_used_again(world: World, again: str) -> None:
    world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    world.submit("a", "none", id="x")
    assert world.submission("x") is SubmissionState.REFUSED
    WAYS[again](world, KEYED)
    world.queue.append(Plan(submissions=("x",)))
    world.deliver()
    assert (world.submission("x"), world.reason("x")) == (SubmissionState.ACTIVE, "")
    assert world.states() == {"a": State.READY}


def test_the_same_request_may_be_sent_again_once_its_app_is_defined(world: World) -> None:
    by_message(world, KEYED, message="first")
    world.tick(after_s=61)
    assert world.submission("x") is SubmissionState.REFUSED
    world.apps("a")
    by_message(world, KEYED, message="second")
    assert world.submission("x") is SubmissionState.ACTIVE


def test_a_redelivered_message_does_not_reopen_a_refused_submission(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    for _ in range(3):
        by_message(world, KEYED | {"key": "none"}, message="first")
    assert (world.submission("x"), refusals(world)) == (SubmissionState.REFUSED, 1)
    by_message(world, KEYED | {"key": "none"}, message="another")
    assert (world.submission("x"), refusals(world), len(caplog.records)) == (SubmissionState.REFUSED, 2, 2)


def test_a_bad_message_that_is_delivered_twice_is_refused_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.apps("a")
    for _ in range(2):
        by_message(world, {"app": "a", "kee": "1"})
    assert listed(world) == {"m/0": SubmissionState.REFUSED}
    assert (refusals(world), len(caplog.records)) == (1, 1)


@pytest.mark.parametrize("second", ["another key", "in another order"])
def test_a_concurrent_request_under_the_same_id_is_compared_with_the_first(world: World, second: str) -> None:
    request = msgspec.convert({**OTHER, **SAME}[second], Submission)
    outcome: list[object] = []

    def submits() -> None:
        try:
            outcome.append(world.ledger.transact(lambda tx: submissions.receive(tx, [request])))
        except Conflict:
            outcome.append(Conflict)

    with psycopg.connect(world.url) as first:
        first.execute("SELECT sluice.submit(%s::jsonb)", (json.dumps(KEYED),))
        thread = threading.Thread(target=submits)
        thread.start()
        waiting = "SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        while not first.execute(waiting).fetchall() and thread.is_alive():
            pass
        first.commit()
    thread.join()
    assert outcome == [Conflict if second in OTHER else set()]


def test_a_valid_submission_costs_one_statement(world: World) -> None:
    before = world.ledger.round_trips()
    world.ledger.transact(lambda tx: submissions.receive(tx, [msgspec.convert(KEYED, Submission)]))
    one = world.ledger.round_trips() - before
    world.ledger.transact(lambda tx: tx.column("SELECT 1"))
    assert world.ledger.round_trips() - before == 2 * one
