"""Folders that leave in the very moment in which somebody locks them."""

import fcntl
import threading
from pathlib import Path

import pytest

from sluice.jobs.programs.lock import abandoned, shared, sole
from sluice.jobs.programs.patience import Patience


@pytest.fixture
def replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is another one under the same name by the time of its first lock."""
    folder, flock = tmp_path / "folder", fcntl.flock
    folder.mkdir()

    def replace_and_lock(descriptor: int, how: int) -> None:
        if not (tmp_path / "earlier").exists():
            folder.rename(tmp_path / "earlier")
            folder.mkdir()
        flock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", replace_and_lock)
    return folder


def test_who_locked_what_is_gone_has_nothing(replaced: Path) -> None:
    with shared(replaced) as kept:
        assert not kept
    with shared(replaced) as kept:
        assert kept


def test_who_wants_it_alone_gets_the_one_that_is_there(replaced: Path) -> None:
    with sole(replaced, Patience(threading.Event(), 60), lambda: None):
        with abandoned(replaced) as free:
            assert not free
        with abandoned(replaced.with_name("earlier")) as free:
            assert free
