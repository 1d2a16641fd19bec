"""Submissions that a client checks against its definitions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sluice import Client, Submission
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


@pytest.fixture
def client(world: World, tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "checked_apps.py").write_text(APPS)
    catalogue = load([str(tmp_path / "checked_apps.py")])
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


def test_a_client_without_definitions_leaves_the_check_to_the_planner(world: World) -> None:
    with closing(Client(world.ledger, world.queue.extend)) as client:
        assert client.submit(Submission(app="nowhere", key="x"))
