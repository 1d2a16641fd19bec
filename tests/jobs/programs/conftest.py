"""A shop for each test, and the check that nothing but its store was touched."""

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
