"""Retention of a process on each tick, with a clock that is set by hand."""

import logging
from pathlib import Path

import pytest

from sluice.actors.groomer import retention
from sluice.actors.groomer.retention import Retention, SweepResult
from sluice.jobs.blobs import BlobStore
from sluice.ledger.retention.removal import REST_S, Removed
from tests.ledger.ages import DAY_S, KEEP_S, later, pruned
from tests.world import World

BLOB = "a/t/1-output-" + 32 * "0"


def old(world: World, jobs: int = 1) -> None:
    """End this many jobs of ``a``, each with a blob, and let time pass until they are old."""
    world.apps("a")
    for key in range(1, jobs + 1):
        world.submit("a", str(key))
        claimed = world.claim(f"a/{key}")
        assert claimed is not None
        world.record(claimed, output_blob=f"{BLOB[:-1]}{key}")
    later(world)


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(str(tmp_path))


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("printed")


def files(folder: Path) -> list[str]:
    return sorted(path.name[-1] for path in folder.rglob("*") if path.is_file())


def test_a_tick_removes_old_history_and_then_its_blobs(
    world: World, store: BlobStore, tmp_path: Path
) -> None:
    old(world, 2)
    put(tmp_path, f"{BLOB[:-1]}1", f"{BLOB[:-1]}2", f"{BLOB[:-1]}3")
    Retention(world.ledger, store, KEEP_S).tick()
    assert pruned(world) == {"a", "a/2"}
    assert files(tmp_path) == ["3"]


def test_a_tick_is_bounded_and_the_next_one_continues(
    world: World, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LIMIT", 2)
    old(world, 5)
    ours = Retention(world.ledger, store, KEEP_S, tick_s=0)
    seen = []
    for _ in range(3):
        ours.tick()
        seen.append(len(pruned(world)))
    assert seen == [2, 4, 5]


def test_removals_are_logged_at_once_and_then_in_totals(
    world: World, store: BlobStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "sluice.retention")
    monkeypatch.setattr(retention, "LIMIT", 1)
    old(world, 5)
    moment = [1000.0]
    ours = Retention(world.ledger, store, KEEP_S, tick_s=0, clock=lambda: moment[0])
    ours.tick()
    ours.tick()
    ours.tick()
    moment[0] += retention.LINE_EVERY_S
    ours.tick()
    texts = [record.getMessage() for record in caplog.records]
    start = "removed, because it was old enough: the history of "
    assert [text.startswith(start) for text in texts] == [True, True]
    assert [text.removeprefix(start).partition(",")[0] for text in texts] == ["1 job", "3 jobs"]


def test_a_tick_removes_further_batches_until_its_time_is_used_up(
    world: World, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LIMIT", 1)
    old(world, 9)
    times = iter([0.0, 0.2, 0.79, 0.81, 1.0, 1.9])
    ours = Retention(world.ledger, store, KEEP_S, tick_s=1.0, clock=lambda: next(times))
    seen = []
    for _ in range(2):
        ours.tick()
        seen.append(len(pruned(world)))
    assert seen == [3, 4]


def test_a_tick_with_time_left_stops_when_nothing_is_left(
    world: World, store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LIMIT", 2)
    monkeypatch.setattr(retention, "BLOBS", 1)
    old(world, 5)
    put(tmp_path, *(f"{BLOB[:-1]}{key}" for key in range(1, 6)))
    Retention(world.ledger, store, KEEP_S, clock=lambda: 0.0).tick()
    assert len(pruned(world)) == 5
    assert files(tmp_path) == []


def test_a_tick_with_several_batches_asks_a_silent_store_once(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retention, "LIMIT", 1)
    old(world, 3)
    with caplog.at_level(logging.WARNING, logger="sluice.retention"):
        Retention(world.ledger, BlobStore("nosuch://host/x"), KEEP_S, clock=lambda: 0.0).tick()
    assert len(pruned(world)) == 3
    assert caplog.text.count("deleted later") == 1


def test_a_tick_removes_jobs_and_submissions_that_are_old_enough(
    world: World, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LIMIT", 2)
    old(world, 5)
    Retention(world.ledger, store, KEEP_S, keep_jobs_s=2 * KEEP_S, clock=lambda: 0.0).tick()
    assert len(pruned(world)) == 5
    later(world)
    Retention(world.ledger, store, KEEP_S, keep_jobs_s=2 * KEEP_S, clock=lambda: 0.0).tick()
    assert world.states() == {}
    assert world.ledger.transact(lambda tx: tx.column("SELECT id FROM submission")) == []


def test_jobs_stay_while_their_history_is_kept(world: World, store: BlobStore) -> None:
    old(world)
    Retention(world.ledger, store, None, keep_jobs_s=KEEP_S).tick()
    assert len(world.states()) == 1


def test_history_that_becomes_old_later_is_removed_by_a_later_sweep(world: World, store: BlobStore) -> None:
    old(world)
    world.submit("a", "2")
    world.finish("a/2")
    ours = Retention(world.ledger, store, KEEP_S)
    ours.tick()
    assert pruned(world) == {"a"}
    world.tick(after_s=29 * DAY_S)
    ours.tick()
    assert pruned(world) == {"a"}
    world.tick(after_s=DAY_S + REST_S)
    ours.tick()
    assert pruned(world) == {"a", "a/2"}


def test_without_a_retention_time_all_history_stays(world: World, store: BlobStore) -> None:
    old(world)
    Retention(world.ledger, store, None).tick()
    assert pruned(world) == set()


def test_blobs_that_could_not_be_deleted_are_deleted_later(
    world: World, store: BlobStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old(world)
    put(tmp_path, f"{BLOB[:-1]}1")
    with caplog.at_level(logging.WARNING, logger="sluice.retention"):
        Retention(world.ledger, BlobStore("nosuch://host/x"), KEEP_S).tick()
    assert "deleted later" in caplog.text
    assert (pruned(world), files(tmp_path)) == ({"a"}, ["1"])
    ours = Retention(world.ledger, store, KEEP_S)
    ours.tick()
    assert files(tmp_path) == ["1"], "another process may still be deleting it"
    world.tick(after_s=60)
    ours.tick()
    assert files(tmp_path) == []


def test_a_blob_that_is_already_gone_counts_as_deleted(world: World, store: BlobStore) -> None:
    old(world)
    assert retention.prune(world.ledger, store, keep_s=KEEP_S) == SweepResult(
        removed=Removed(jobs=1, transitions=5, rounds=1, blobs=1), blobs=1, orphans=0
    )
    assert retention.prune(world.ledger, store, keep_s=KEEP_S).blobs == 0


def test_a_forged_blob_name_deletes_no_other_file_and_blocks_no_blob(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Anyone with write access to the ledger can write any name. The retention must not delete another file because of
    it."""
    inside = tmp_path / "store"
    put(tmp_path, "victim")
    put(inside, f"{BLOB[:-1]}2")
    old(world, 2)
    world.ledger.transact(
        lambda tx: tx.write("UPDATE round SET output_blob = '../victim' WHERE output_blob LIKE '%1'")
    )
    with caplog.at_level(logging.WARNING, logger="sluice.retention"):
        swept = retention.prune(world.ledger, BlobStore(str(inside)), keep_s=KEEP_S)
    assert (swept.blobs, files(inside)) == (2, [])
    assert (tmp_path / "victim").read_text() == "printed"
    assert "'../victim'" in caplog.text
