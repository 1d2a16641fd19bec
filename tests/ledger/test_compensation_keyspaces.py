"""Sagas across apps with chunks and partitions: after an undo, IDs are stale and partitions are missing again."""

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from tests.ledger.lineages import ask, end, lineage, named, ready, there
from tests.world import World

UNDO = {"job_id": "{key}", "bash_cmd": "true"}
CHUNKS = {
    "fetch": {"chunk_size": 2, "bash_cmd": "true", "compensate": "drop"},
    "report": {"chunk_size": 2, "bash_cmd": "true", "dependencies": [{"job_type": "fetch", "max_lag": "1h"}]},
    "drop": UNDO,
}


def _fresh(world: World) -> list[str]:
    return world.ledger.transact(lambda tx: tx.column("SELECT work_id FROM freshness ORDER BY work_id"))


def test_work_ids_are_stale_once_their_chunk_is_undone(world: World) -> None:
    world.define(CHUNKS)
    world.submit("report", None, work_ids="1-4", id="s", mode="saga")
    world.finish("fetch/1-2@1")
    world.finish("fetch/3-4@1")
    world.finish("report/1-2@1")
    world.finish("report/3-4@1", Ending.ERROR)
    assert world.submission("s") is SubmissionState.FAILED
    world.tick()
    assert world.ready() == {"drop/1-2@1", "drop/3-4@1"}
    world.finish("drop/1-2@1")
    assert _fresh(world) == ["1", "2", "3", "4"], (
        "1 and 2 have been reported, and 3 and 4 are not dropped yet"
    )
    world.finish("drop/3-4@1")
    assert _fresh(world) == ["1", "2"], "IDs that were reported stay fresh"
    world.tick(after_s=1)
    world.submit("fetch", None, work_ids="3-4", id="again")
    assert world.submission("again") is SubmissionState.ACTIVE, "the IDs are fetched again"


def test_partitions_are_made_again_once_they_are_undone(world: World) -> None:
    apps = lineage("a, b: a")
    apps["a"]["compensate"] = "drop"
    world.define(apps | {"drop": UNDO})
    ask(world, "b", "2024-04-01", id="s", mode="saga")
    end(world, "a/2024-04-01")
    end(world, "b/2024-04-01", Ending.ERROR)
    world.tick()
    assert there(world, "a") == ["2024-04-01"]
    world.finish(f"drop/{named(world, 'a/2024-04-01').removeprefix('a/')}")
    assert there(world, "a") == []
    ask(world, "b", "2024-04-01")
    assert ready(world) == {"a/2024-04-01"}
