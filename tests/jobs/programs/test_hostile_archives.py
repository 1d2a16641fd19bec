"""Two thousand hostile or damaged archives."""

import os
import stat
import threading
from pathlib import Path
from typing import cast

import pytest

from sluice.jobs.programs.archive.unpack import unpack
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.program_cache import remove
from sluice.jobs.programs.source import Form, Rules
from tests.jobs.programs.mutations import hostile_archives

COUNT = 2000
RULES = Rules(bytes_max=2**20, unpacked_bytes_max=64 * 1024, files_max=20, ratio_max=50)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable ``fsync``, because no file of these tests must survive a power failure."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("quick")
def test_no_archive_writes_outside_or_raises_an_error_other_than_unfit(tmp_path: Path, seed: int) -> None:
    """An unpacked archive has only regular files, folders, and links that stay inside."""
    sentinel = tmp_path / "files" / "sentinel"
    sentinel.parent.mkdir()
    sentinel.write_text("untouched")
    before = _around(tmp_path)
    fates: dict[str, int] = {}
    for number, (form, content) in enumerate(hostile_archives(seed, COUNT // 4)):
        archive, tree = tmp_path / "archive", tmp_path / "tree"
        archive.write_bytes(content)
        fate = _fate(archive, form, tree)
        assert fate.isprintable(), (seed, number)
        fate = fate if fate in {"True", "False", "None"} else "Unfit"
        fates[fate] = fates.get(fate, 0) + 1
        _check(tree, (seed, number), whole=fate != "Unfit")
        archive.unlink()
        assert remove(tree), (seed, number)
        assert _around(tmp_path) == before, (seed, number)
    assert fates["True"] > 20
    assert fates["Unfit"] > COUNT / 8


def _fate(archive: Path, form: str, tree: Path) -> str:
    """Return the result for ``run.sh`` as text, or the reason of the refusal."""
    try:
        return str(unpack(archive, cast(Form, form), tree, RULES, Patience(threading.Event(), 60)))
    except Unfit as error:
        return str(error)


def _check(tree: Path, where: tuple[int, int], *, whole: bool) -> None:
    top, size, count = tree.resolve(), 0, 0
    for path, folders, files in os.walk(tree):
        for name in (*folders, *files):
            member, count = Path(path, name), count + 1
            mode = member.lstat().st_mode
            if stat.S_ISLNK(mode):
                assert whole, where
                assert member.resolve().is_relative_to(top), where
                continue
            allowed = {0o755} if stat.S_ISDIR(mode) else {0o755, 0o644} if whole else {0o755, 0o644, 0o600}
            assert stat.S_ISDIR(mode) or stat.S_ISREG(mode), where
            assert stat.S_IMODE(mode) in allowed, where
            size += 0 if stat.S_ISDIR(mode) else member.lstat().st_size
    assert count <= RULES.files_max, where
    assert size <= RULES.unpacked_bytes_max, where


def _around(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return mode, size and modification time of everything in the folder, to detect a change."""
    return {
        str(path): (
            path.lstat().st_mode,
            path.lstat().st_size,
            path.lstat().st_mtime_ns if path.is_file() else 0,
        )
        for path in folder.rglob("*")
    }
