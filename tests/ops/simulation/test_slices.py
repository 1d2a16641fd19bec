"""A table with a second dimension in virtual time: a slice fails, lands again, and is made again."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.ops.simulation.plugin import Pipelines
from sluice.testing import Took

PIPELINE = """
from pathlib import Path

from sluice import app

STORES = {"store": ["graz", "oslo"]}
MADE, FAULTY = Path(__file__).with_name("made.txt"), Path(__file__).with_name("faulty.txt")


@app(partition={"unit": "day", "by": STORES}, step_size=2,
     table_dependencies=[{"table": "events", "partition": {"by": STORES}}])
def sales(job, store, partitions):
    if FAULTY.exists() and FAULTY.read_text() == store:
        raise RuntimeError(f"{store} is closed")
    assert job.by == {"store": store}
    assert job.table == "sales"
    assert [*job.inputs] == ["events"]
    with MADE.open("a") as made:
        for day in partitions:
            print(store, day, file=made)
            job.done(day)


@app(partition="day", table_dependencies=[{"table": "sales"}])
def total(job, partitions):
    assert job.inputs == {"sales": (partitions[0], partitions[-1])}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "stores.py").write_text(PIPELINE)
    return tmp_path


def _made(folder: Path) -> list[str]:
    """Return the made days, and forget them."""
    path = folder / "made.txt"
    made = sorted(path.read_text().splitlines()) if path.exists() else []
    path.unlink(missing_ok=True)
    return made


def test_each_slice_fails_lands_again_and_is_restated_by_itself(pipeline: Pipelines, folder: Path) -> None:
    (folder / "faulty.txt").write_text("oslo")
    run = pipeline(str(folder / "stores.py"), work=Took(60, real=True))
    for store in ("graz", "oslo"):
        run.land(f"events[store={store}]", "2026-11-01..2026-11-03")
    id_ = run.submit("total", start="2026-11-01", end="2026-11-03")
    run.until_quiet()
    assert run.submission(id_) == "failed"
    assert run.state("sales", "oslo/2026-11-01..2026-11-02") == "failed"
    assert run.state("total", "2026-11-03") == "upstream_failed"
    assert _made(folder) == ["graz 2026-11-01", "graz 2026-11-02", "graz 2026-11-03"]

    (folder / "faulty.txt").unlink()
    run.submit("total", start="2026-11-01", end="2026-11-03")
    run.until_quiet()
    assert run.state("total", "2026-11-03") == "succeeded"
    assert _made(folder) == ["oslo 2026-11-01", "oslo 2026-11-02", "oslo 2026-11-03"]

    run.land("events[store=graz]", "2026-11-02", again=True)
    run.submit("total", start="2026-11-01", end="2026-11-03")
    run.until_quiet()
    assert _made(folder) == ["graz 2026-11-02"]
    assert (run.ran("total", "2026-11-02"), run.ran("total", "2026-11-01")) == (2, 1)

    run.submit("sales", start="2026-11-03", end="2026-11-03", by={"store": ["oslo"]}, rerun="downstream")
    run.until_quiet()
    assert _made(folder) == ["oslo 2026-11-03"]
    assert run.ran("total", "2026-11-03") == 2


def test_a_command_receives_the_value(pipeline: Pipelines, tmp_path: Path) -> None:
    partition = {"by": {"store": ["graz", "oslo"]}}
    apps: dict[str, Any] = {"sales": {"bash_cmd": "echo {store} of {start}", "partition": partition}}
    (tmp_path / "apps.json").write_text(json.dumps(apps))
    run = pipeline(str(tmp_path / "apps.json"), work=Took(1, real=True))
    run.submit("sales", start="2026-11-01", end="2026-11-01")
    run.until_quiet()
    assert run.output("sales", "oslo/2026-11-01").strip() == "oslo of 2026-11-01"
