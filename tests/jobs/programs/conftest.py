"""Fixtures: a shop for each test, with a check that nothing beside it was changed, and a web server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.programs.shop import Shop
from tests.jobs.programs.web_server import WebServer


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    assert {path.name for path in tmp_path.iterdir()} <= {"store", "files", "sentinel"}
    assert (tmp_path / "sentinel").read_text() == "untouched"


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server
