"""A world with schedules."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.timed import Timed


@pytest.fixture
def timed(ledger_url: str, tmp_path: Path) -> Iterator[Timed]:
    with Timed(ledger_url, tmp_path) as made:
        yield made
