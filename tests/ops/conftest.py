"""A folder with definitions and an embedded ledger for all commands that tests run."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from tests.homes import started_ledger
from tests.ops.orders import ORDERS
from tests.ops.site import Site
from tests.ops.typist import NO_LEDGER, Typist
from tests.world import World

SHOPS = ["graz", "oslo"]
DAY = {"date": "date"}
APPS = {
    "fetch": {
        "job_id": "{date}_{shop}",
        "identifiers": DAY,
        "autofill_values": {"shop": SHOPS},
        "bash_cmd": "echo fetching {shop}",
    },
    "report": {
        "job_id": "{date}",
        "identifiers": DAY,
        "depends_on": {"app_name": ["fetch"], "shop": "all"},
        "bash_cmd": "echo the report of {date}",
    },
    "publish": {
        "job_id": "{date}",
        "identifiers": DAY,
        "depends_on": {"app_name": ["report"]},
        "bash_cmd": "echo trying; exit 3",
        "max_fails": 1,
    },
    "mail": {
        "job_id": "{date}",
        "identifiers": DAY,
        "depends_on": {"app_name": ["publish"]},
        "bash_cmd": "true",
    },
    "nap": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "sleep {n}"},
    "wake": {
        "job_id": "{n}",
        "identifiers": {"n": "int"},
        "depends_on": {"app_name": ["nap"], "n": [0, 1]},
        "bash_cmd": "true",
    },
}
NOISY = """
print("this module prints while it is loaded")

import os
from sluice import app

@app(job_id="{n}", identifiers={"n": "int"})
def noisy(n):
    print("and so does its job")
    os.system("echo even through a child")
"""


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    """Yield a folder that many tests share. Each test finds the data that earlier tests have left."""
    with desk_in(tmp_path_factory.mktemp("desk")) as typist:
        yield typist


@pytest.fixture(scope="module")
def desk_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    """Yield a folder for the tests of one module, which wait until no work is left."""
    with desk_in(tmp_path_factory.mktemp("desk")) as typist:
        yield typist


@pytest.fixture(scope="module")
def orders(desk_of_module: Typist) -> Typist:
    """Return the folder of the module with the definition of a saga of orders."""
    desk_of_module.write("orders.py", ORDERS)
    desk_of_module.environment |= {"SLUICE_APPS": "orders.py,apps.json", "SLUICE_TICK": "200ms"}
    return desk_of_module


@pytest.fixture
def desk_apart(tmp_path: Path) -> Iterator[Typist]:
    """Yield a folder for one test that leaves the ledger in an unusual state, for example because it kills a worker."""
    with desk_in(tmp_path) as typist:
        yield typist


@contextmanager
def desk_in(folder: Path) -> Iterator[Typist]:
    """Yield a folder with a ledger that keeps running. Starting a ledger for each command would take as long as the
    rest of the command.
    """
    typist = Typist(folder, SLUICE_HOME=str(folder / "home"), SLUICE_APPS="apps.json")
    typist.apps("apps.json", APPS)
    typist.write("noisy.py", NOISY)
    with started_ledger(folder / "home") as url, closing(Ledger(url, connections=1)) as ledger:
        typist.ledger = ledger
        yield typist


@pytest.fixture(scope="session")
def offline(desk: Typist) -> Typist:
    """Return a folder with the same definitions and a ledger that does not answer."""
    return Typist(desk.folder, SLUICE_LEDGER_URL=NO_LEDGER, SLUICE_APPS="apps.json")


@pytest.fixture
def site(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Site:
    """Return a ledger and definitions for commands that run in this process."""
    monkeypatch.setenv("SLUICE_LEDGER_URL", world.url)
    monkeypatch.setenv("SLUICE_APPS", str(tmp_path / "apps.json"))
    return Site(world, tmp_path, capfd)
