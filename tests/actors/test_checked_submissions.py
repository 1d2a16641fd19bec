"""Submissions that a client checks against its definitions."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sluice import Client, Job, Submission, app, retry
from sluice.jobs.catalogue import load
from sluice.jobs.errors import BadKey, BadRequest, UnknownApp
from tests.world import World

APPS = """
from datetime import date
from sluice import Job, app

@app
def price(item: str, *, pieces: int, note: str = ""): ...

@app
def seen(job: Job, n: int): ...

@app
def rest(n: int, **kwargs): ...
"""


@app
def seen(job: Job, n: int) -> None: ...


@pytest.fixture
def client(world: World, tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "checked_apps.py").write_text(APPS)
    world.catalogue = catalogue = load([str(tmp_path / "checked_apps.py")])
    with closing(Client(world.ledger, world.queue.extend, lambda: catalogue, checks=True)) as made:
        yield made


@pytest.mark.parametrize(
    "words",
    [
        {"app": "price", "key": "nail", "kwargs": {"pieces": 2}},
        {"app": "price", "keys": ("nail", "nut"), "kwargs": {"pieces": 2, "note": "soon"}},
        {"app": "seen", "key": "1", "kwargs": {"any": 1}},
        {"app": "rest", "key": "1", "kwargs": {"any": 1}},
        {"app": "rest", "key": "1", "policy": {"priority": 3}},
    ],
)
def test_a_submission_that_fits_is_received(client: Client, words: dict[str, Any]) -> None:
    assert client.submit(Submission(**words))


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        ({"app": "prize", "key": "a"}, UnknownApp, "prize"),
        ({"app": "seen", "key": "x"}, BadKey, "'x' is not a key of seen"),
        ({"app": "price", "key": "a"}, BadRequest, r"price\(\) needs the kwargs pieces"),
        (
            {"app": "price", "key": "a", "kwargs": {"pieces": 1, "colour": "red"}},
            BadRequest,
            r"price\(\) does not take the kwargs colour",
        ),
        (
            {"app": "price", "key": "a", "kwargs": {"pieces": "two"}},
            BadRequest,
            "The kwarg pieces does not fit its type: Expected `int`, got `str`",
        ),
        (
            {"app": "price", "key": "a", "kwargs": {"pieces": 1, "item": "b"}},
            BadRequest,
            "does not take the kwargs item",
        ),
        (
            {"app": "seen", "key": "1", "policy": {"env": {}}},
            BadRequest,
            "only the app's definition may set it",
        ),
    ],
)
def test_a_submission_that_does_not_fit_is_refused_before_it_is_stored(
    client: Client, world: World, words: dict[str, Any], error: type[Exception], what: str
) -> None:
    with pytest.raises(error, match=what):
        client.submit(Submission(**words))
    assert world.ledger.transact(lambda tx: tx.column("SELECT id FROM submission")) == []


def test_a_submission_may_have_the_function_and_values_of_python(client: Client, world: World) -> None:
    policy = {
        "timeout": timedelta(minutes=10),
        "start_after": timedelta(seconds=30),
        "end_before": datetime(2027, 1, 1, 12, tzinfo=UTC),
        "retry": retry.fixed("10s"),
    }
    id_ = client.submit(Submission(app=seen, key="1", policy=policy))
    world.deliver()
    request = world.ledger.transact(
        lambda tx: tx.column("SELECT request FROM submission WHERE id = %(id)s", id=id_)
    )
    assert request[0]["app"] == "seen"
    assert request[0]["policy"] == {
        "timeout": "600s",
        "start_after": "30s",
        "end_before": "2027-01-01T12:00:00+00:00",
        "retry": {"rule": "fixed", "seconds": 10.0},
    }
    assert world.state("seen") == "waiting"


def test_a_naive_time_in_a_policy_is_refused(client: Client) -> None:
    with pytest.raises(BadRequest, match=r"policy: end_before: .* has no time zone"):
        client.submit(Submission(app=seen, key="1", policy={"end_before": datetime(2027, 1, 1)}))  # noqa: DTZ001  # the point of the test


def test_a_submission_needs_a_name_or_a_function() -> None:
    with pytest.raises(ValueError, match="3 is no app; write its name or its decorated function"):
        Submission(app=3)  # type: ignore[arg-type] # the point of the test


def test_a_client_without_definitions_leaves_the_check_to_the_planner(world: World) -> None:
    with closing(Client(world.ledger, world.queue.extend)) as client:
        assert client.submit(Submission(app="nowhere", key="x"))
