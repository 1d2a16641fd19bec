"""Fixtures: a world with schedules, one with a grid, a manager of tasks, and a single executor."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.actors.bench import Bench
from tests.actors.long_running import Site
from tests.actors.managed_app import Crew
from tests.timed import Timed
from tests.world import World


@pytest.fixture
def timed(ledger_url: str, tmp_path: Path) -> Iterator[Timed]:
    with Timed(ledger_url, tmp_path) as made:
        yield made


@pytest.fixture
def site(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return Site(world, tmp_path)


@pytest.fixture
def started(site: Site) -> Site:
    site.world.submit("far", id="s")
    site.run()
    return site


@pytest.fixture
def crew(world: World) -> Crew:
    return Crew(world)


@pytest.fixture
def bench(world: World, tmp_path: Path) -> Iterator[Bench]:
    with closing(Bench(world, tmp_path)) as made:
        yield made
