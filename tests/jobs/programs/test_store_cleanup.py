"""Removal from a store: unused versions, unused records, and the folders of runs."""

import os
import time
from pathlib import Path

import pytest

from sluice.jobs.programs.program_cache import UNUSED_S, shared
from sluice.jobs.programs.store import ProgramStore
from tests.jobs.programs.archives import RUN_SH, Member, archive
from tests.jobs.programs.shop import Shop

V1 = archive("zip")
V2 = archive("zip", [Member("run.sh", b"#!/bin/sh\necho second\n", mode=0o755)])
DIGS = b"""#!/bin/sh
deep=$(printf 'd/%.0s' $(seq 1500))
mkdir -p $deep && cd -P $deep && mkdir -p $deep && chmod 000 d && echo dug
"""


def test_a_very_deep_folder_of_a_run_is_removed(shop: Shop) -> None:
    """The folder is deeper than the length of a path and the depth of the stack allow."""
    source = shop.put("run.sh", DIGS, mode=0o755)
    assert shop.run(source) == "dug\n"
    assert shop.leftovers() == []
    assert shop.run(shop.put("a.zip", V1)) == "ran\n"


def test_versions_unused_for_a_day_are_removed_except_the_latest(shop: Shop) -> None:
    sources = [shop.put(f"{n}.zip", archive("zip", [RUN_SH, Member(f"{n}")])) for n in range(6)]
    for number, source in enumerate(sources):
        shop.run(source)
        new = max((shop.folder / "versions").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        _age(new, UNUSED_S + 1000 - 100 * number if number < 5 else 0)
    kept = {
        path for path in (shop.folder / "versions").iterdir() if path.stat().st_mtime > _ago(UNUSED_S + 750)
    }
    shop.run(sources[5], versions_max=2)
    assert set((shop.folder / "versions").iterdir()) == kept
    assert len(kept) == 3
    assert shop.run(sources[0]) == "ran\n"


def test_a_version_that_is_being_copied_is_not_removed(shop: Shop) -> None:
    source = shop.put("a.zip", V1)
    shop.run(source)
    (version,) = (shop.folder / "versions").iterdir()
    _age(version, 2 * UNUSED_S)
    other = shop.put("b.zip", V2)
    with shared(version) as kept:
        assert kept
        shop.run(other, versions_max=0)
        assert version.exists()
    shop.run(other, versions_max=0)
    assert not version.exists()


def test_a_version_that_is_just_being_removed_is_fetched_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run(shop.put("a.zip", V1))
    (version,) = (shop.folder / "versions").iterdir()
    has = ProgramStore._has

    def has_and_loses(store: ProgramStore, name: str) -> bool:
        had = has(store, name)
        if version.exists():
            version.rename(shop.folder / "aside" / "removed")
        return had

    monkeypatch.setattr(ProgramStore, "_has", has_and_loses)
    assert shop.run(shop.put("b.zip", V1)) == "ran\n"


def test_records_unused_for_a_day_are_removed(shop: Shop) -> None:
    shop.run(shop.put("a.zip", V1))
    (record,) = (shop.folder / "sources").iterdir()
    _age(record, UNUSED_S + 10)
    shop.run(shop.put("b.zip", V1))
    assert not record.exists()


def _age(path: Path, by_s: float) -> None:
    os.utime(path, (_ago(by_s), _ago(by_s)))


def _ago(by_s: float) -> float:
    return time.time() - by_s
