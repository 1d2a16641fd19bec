"""Limit on the size of all stored versions together."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sluice.jobs.processes.file_lock import FileLock
from sluice.jobs.programs import program_cache
from sluice.jobs.programs.archive.unpack import unpack
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.program_cache import shared
from tests.jobs.programs.archives import RUN_SH, Member, archive
from tests.jobs.programs.shop import Shop

MIB = 1024 * 1024


def _source(shop: Shop, name: str) -> str:
    """Write a program that takes a little more than 1 MiB with its archive, and return its source."""
    half = os.urandom(MIB // 2)
    return shop.put(f"{name}.tar", archive("tar", [RUN_SH, Member("data", half)]))


def _age(version: Path, by_s: float) -> None:
    os.utime(version, (time.time() - by_s,) * 2)


def _newest(shop: Shop) -> Path:
    return max((shop.folder / "versions").iterdir(), key=lambda path: path.stat().st_mtime_ns)


def _stored_bytes(shop: Shop) -> int:
    return sum(path.lstat().st_size for path in (shop.folder / "versions").rglob("*") if path.is_file())


def test_the_least_recently_used_version_is_removed_to_make_room(shop: Shop) -> None:
    versions = {}
    for age_s, name in [(30, "a"), (20, "b"), (10, "c")]:
        shop.run(_source(shop, name), dir_bytes_max=4 * MIB)
        versions[name] = _newest(shop)
        _age(versions[name], age_s)
    shop.run(f"file:{shop.files}/a.tar", dir_bytes_max=4 * MIB)
    shop.run(_source(shop, "d"), dir_bytes_max=4 * MIB)
    assert [versions[name].exists() for name in "abc"] == [True, False, True]
    shop.run(_source(shop, "e"), dir_bytes_max=2.5 * MIB)
    assert len(shop.versions()) == 2


def test_a_version_in_use_is_not_removed_to_make_room(shop: Shop) -> None:
    shop.run(_source(shop, "a"))
    version = _newest(shop)
    other = _source(shop, "b")
    with shared(version):
        line = shop.refusal(other, dir_bytes_max=2 * MIB)
        assert line.startswith(f"program 'prog' from {other} cannot be stored: it takes ")
        assert line.endswith(
            "bytes, which with the versions in use is more than the 2097152 bytes that "
            "SLUICE_PROGRAMS_DIR_SIZE allows all versions together"
        )
        assert version.exists()
    assert shop.run(other, dir_bytes_max=2 * MIB) == "ran\n"
    assert not version.exists()


def test_a_program_above_the_limit_removes_no_version(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.run(shop.put("small.zip", archive("zip")))
    monkeypatch.setattr("sluice.jobs.programs.store.unpack", lambda *_: pytest.fail("it is unpacked"))
    assert "which is more than the 1048576 bytes" in shop.refusal(_source(shop, "a"), dir_bytes_max=MIB)
    assert len(shop.versions()) == 1


def test_concurrent_fetches_together_do_not_exceed_the_limit(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each store behaves like the store of another process. Both have reserved before either unpacks."""
    sources = [_source(shop, name) for name in "abcd"]
    reserved = threading.Barrier(2)

    def unpack_together(*words: object) -> bool | None:
        reserved.wait(60)
        return unpack(*words)  # type: ignore[arg-type] # its own arguments, passed on

    def run(source: str) -> str:
        try:
            return shop.run(source, dir_bytes_max=int(2.5 * MIB))
        except Unfit as error:
            return error.what

    monkeypatch.setattr("sluice.jobs.programs.store.unpack", unpack_together)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(run, sources[:2])) == ["ran\n", "ran\n"]
    assert len(shop.versions()) == 2
    monkeypatch.setattr("sluice.jobs.programs.store.unpack", unpack)
    with ThreadPoolExecutor(4) as threads:
        ends = list(threads.map(run, sources))
    assert "ran\n" in ends
    assert all(end == "ran\n" or "SLUICE_PROGRAMS_DIR_SIZE" in end for end in ends)
    assert _stored_bytes(shop) <= 2.5 * MIB
    assert shop.leftovers() == []


def test_a_folder_that_another_process_locks_first_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = program_cache._locked
    others: list[FileLock] = []

    def lock_second(folder: Path) -> FileLock | None:
        if not others:
            others.append(FileLock.of_folder(folder))
            assert others[0].try_exclusive()
        return locked(folder)

    monkeypatch.setattr(program_cache, "_locked", lock_second)
    with closing(program_cache.locked_folder(tmp_path)) as own:
        others[0].close()
        assert list(tmp_path.iterdir()) == [own.path]


def test_a_fetch_counts_the_reservations_of_other_fetches(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, ends = _source(shop, "a"), _source(shop, "b"), []

    def unpack_meanwhile(*words: object) -> bool | None:
        monkeypatch.setattr("sluice.jobs.programs.store.unpack", unpack)
        with pytest.raises(Unfit, match="with the versions in use is more than") as caught:
            shop.run(second, dir_bytes_max=2 * MIB)
        ends.append(caught.value.what)
        return unpack(*words)  # type: ignore[arg-type] # its own arguments, passed on

    monkeypatch.setattr("sluice.jobs.programs.store.unpack", unpack_meanwhile)
    assert shop.run(first, dir_bytes_max=2 * MIB) == "ran\n"
    assert len(ends) == 1
    assert shop.run(second, dir_bytes_max=2 * MIB) == "ran\n"


def test_the_reservation_of_a_dead_process_does_not_count(shop: Shop) -> None:
    shop.run(_source(shop, "a"))
    dead = shop.folder / "aside" / "dead"
    dead.mkdir()
    (dead / "needs").write_text(str(100 * MIB))
    store = shop.store(dir_bytes_max=3 * MIB)
    store._swept_at = time.monotonic()
    with store.program("prog", _source(shop, "b"), stop=shop.stop, say=shop.said.append):
        assert len(shop.versions()) == 2
