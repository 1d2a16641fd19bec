"""Fixtures for tests of runners, and the check that no run leaves a process or an open descriptor."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from sluice.jobs.policy.sandbox_settings import Fence
from sluice.jobs.runners import stop_signal
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Bench, Clock
from tests.jobs.runners.sandboxes import At


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        bench = Bench(pool, tmp_path)
        yield bench
        bench.stop.set()


@pytest.fixture
def programs(bench: Bench) -> Programs:
    return Programs(bench)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock by which timeouts are counted, and return it."""
    clock = Clock()
    monkeypatch.setattr(stop_signal, "time", clock)
    return clock


@pytest.fixture
def worker_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="sluice.job")
    return caplog


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """Check that a test leaves no child process, zombie or not, and no open descriptor that did not exist before it."""
    own = psutil.Process()
    children, descriptors = set(own.children(recursive=True)), own.num_fds()
    yield
    assert set(own.children(recursive=True)) - children == set()
    assert own.num_fds() <= descriptors


@pytest.fixture
def at(tmp_path: Path) -> Iterator[At]:
    """Yield a function that makes a bench for a level of the sandbox."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        made: list[Bench] = []

        def bench(fence: Fence) -> Bench:
            made.append(Bench(pool, tmp_path, fence))
            return made[-1]

        yield bench
        for each in made:
            each.stop.set()
