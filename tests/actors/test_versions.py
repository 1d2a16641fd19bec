"""A step runs only by the definition that it was planned with, in a worker that has this definition."""

import sys
from pathlib import Path

import pytest

from sluice.actors.executor.assignments import NotHere, Versions, assign
from sluice.jobs.catalogue import load
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import breaches
from tests.world import World

DAY = {"start": "2024-04-01", "end": "2024-04-01"}
MODULE = """
from sluice import app

@app(output_table="days", step_size=3)
def days(job):
    return {what}
"""


def _code(folder: Path, what: str) -> None:
    (folder / "version_pipeline.py").write_text(MODULE.format(what=what))


def test_code_that_has_changed_since_the_plan_is_not_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    _code(tmp_path, "1")
    world.catalogue = load(["version_pipeline"])
    world.submit("days", None, **DAY)
    (step,) = world.ready()
    name = world.known(step).name
    versions = Versions(world.ledger)
    assert versions.of(world.catalogue, name).function is world.catalogue["days"].function
    _code(tmp_path, "'something else'")
    # This is the state of a worker that was started after the change.
    monkeypatch.delitem(sys.modules, "version_pipeline")
    world.catalogue = load(["version_pipeline"])
    with pytest.raises(NotHere, match="planned with other code"):
        versions.of(world.catalogue, name)


def test_a_step_with_an_unavailable_version_waits_for_another_worker(world: World) -> None:
    world.define({"days": {"bash_cmd": "true", "partition": "day"}})
    world.submit("days", None, **DAY)
    (step,) = world.ready()
    claimed = world.claim(step)
    assert claimed is not None
    assert world.record(claimed, Ending.VERSION_UNAVAILABLE, error="no worker has it")
    assert world.state(step) is State.WAITING
    assert world.round(step) == 0
    world.tick(after_s=5)
    assert world.state(step) is State.WAITING
    world.tick(after_s=30)
    assert world.state(step) is State.READY
    assert world.ledger.transact(breaches) == []
    world.finish(step)
    assert world.state(step) is State.SUCCEEDED


READING = {
    "days": {"bash_cmd": "true", "partition": "day"},
    "sums": {"bash_cmd": "true", "table_dependencies": [{"table": "days"}, {"table": "landed"}]},
}


def test_a_run_gets_the_input_versions_that_its_step_was_planned_with(world: World) -> None:
    world.define(READING)
    world.land("landed", "2024-04-01")
    world.submit("sums", None, **DAY)
    before = world.catalogue["days"].version
    step = next(iter(world.ready()))
    world.finish(step)
    (sums,) = world.ready()
    world.define(READING | {"days": {"bash_cmd": "false", "partition": "day"}})
    claimed = world.claim(sums)
    assert claimed is not None
    app = Versions(world.ledger).of(world.catalogue, claimed.name)
    assert world.catalogue["days"].version != before
    assert assign(app, claimed).input_versions == {"days": before}
    assert assign(app, claimed).version == app.version != world.catalogue["sums"].version
