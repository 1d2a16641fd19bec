"""Folder for runs, and a check that no test leaves a process behind."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.jobs.managers.commands import FOLDER, leaders_under
from tests.jobs.runners.runner_bench import Bench, eventually


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder for runs. Afterwards check that all processes have ended, and kill the remaining ones."""
    folder = tmp_path / "runs"
    monkeypatch.setenv(FOLDER, str(folder))
    before = _children()
    yield folder
    try:
        eventually(lambda: leaders_under(folder) == [])
    finally:
        for leader in leaders_under(folder):
            os.killpg(leader.pid, signal.SIGKILL)
    eventually(lambda: _children() <= before)


def _children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        bench = Bench(pool)
        yield bench
        bench.stop.set()
