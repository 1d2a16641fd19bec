"""Slices of tables in the console: their names have brackets and ``=``, and the keys of their jobs have slashes."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from tests.console.conftest import started, visiting
from tests.console.visitor import PATIENCE_MS, Visitor
from tests.ops.typist import Typist

_BY = {"by": {"store": ["graz", "oslo"]}}
APPS = {
    "sales": {
        "bash_cmd": "true",
        "partition": _BY,
        "table_dependencies": [{"table": "events", "partition": _BY}],
    }
}
_DAY = "2024-04-01"


@pytest.fixture
def visitor(browser: Browser, tmp_path: Path) -> Iterator[Visitor]:
    """Yield a visitor of a console with workers. One partition of one slice has landed."""
    typist = Typist(tmp_path, SLUICE_HOME=str(tmp_path / "home"), SLUICE_APPS="apps.json")
    typist.apps("apps.json", APPS)
    typist.asks("partitions", "land", "events[store=oslo]", _DAY)
    with (
        started(typist, "up", "--listen", "127.0.0.1:0") as address,
        visiting(browser, address) as found,
    ):
        yield found


def _opens(visitor: Visitor, table: str) -> None:
    query = urlencode({"table": table, "partition": _DAY, "from": _DAY, "to": _DAY})
    visitor.goes(f"/partitions?{query}")
    visitor.sees(f"{table}, {_DAY}", "aside.portrait")


def test_a_partition_of_a_slice_is_submitted_alone_and_its_job_is_shown(visitor: Visitor) -> None:
    _opens(visitor, "events[store=oslo]")
    visitor.sees("(landed)", "aside.portrait")
    _opens(visitor, "sales[store=oslo]")
    visitor.presses("Submit…", within="aside.portrait")
    expect(visitor.page.locator('[name="by"]')).to_have_value("oslo", timeout=PATIENCE_MS)
    visitor.presses("Submit…")
    visitor.agrees("Submit")
    visitor.settles()
    visitor.goes("/jobs")
    visitor.sees(f"oslo/{_DAY}")
    visitor.sees_not("graz/")
    visitor.presses(f"oslo/{_DAY}")
    visitor.settles()
    assert f"/jobs/sales/oslo%2F{_DAY}%40" in visitor.page.url
    visitor.sees(f"oslo/{_DAY}", "h1")
    visitor.state("succeeded")


def test_a_partition_of_a_slice_lands(visitor: Visitor) -> None:
    _opens(visitor, "events[store=graz]")
    visitor.presses("Land…", within="aside.portrait")
    visitor.agrees("Land them")
    visitor.is_told("1 partition landed.")
    _opens(visitor, "events[store=graz]")
    visitor.sees("(landed)", "aside.portrait")
