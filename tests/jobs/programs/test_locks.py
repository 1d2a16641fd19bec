"""Folders that are replaced at the moment at which they are locked."""

import fcntl
import threading
from pathlib import Path

import pytest

from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.program_cache import abandoned, shared, sole


@pytest.fixture
def replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is replaced by another folder of the same name just before its first lock."""
    folder, flock = tmp_path / "folder", fcntl.flock
    folder.mkdir()

    def replace_and_lock(descriptor: int, how: int) -> None:
        if not (tmp_path / "earlier").exists():
            folder.rename(tmp_path / "earlier")
            folder.mkdir()
        flock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", replace_and_lock)
    return folder


def test_a_shared_lock_on_a_replaced_folder_is_not_granted(replaced: Path) -> None:
    with shared(replaced) as kept:
        assert not kept
    with shared(replaced) as kept:
        assert kept


def test_an_exclusive_lock_is_on_the_folder_that_now_has_the_name(replaced: Path) -> None:
    with sole(replaced, Patience(threading.Event(), 60), lambda: None):
        with abandoned(replaced) as free:
            assert not free
        with abandoned(replaced.with_name("earlier")) as free:
            assert free
