"""Chaos, simulation, soak, ordeal and benchmark leave nothing when SIGTERM ends them in the middle."""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.test_leftovers import (
    END_S,
    START_S,
    assert_at_work,
    assert_nothing_left,
    processes,
    started,
    tells,
)

__all__ = ["tells"]

RUNS = {
    "chaos": ["tests.chaos", "--seconds", "300", "--broker", "redis"],
    "simulation": ["tests.simulation", "--seeds", "100000"],
    "soak": ["tests.soak", "--minutes", "30", "--broker", "redis"],
    "ordeal": ["tests.ordeal", "--broker", "redis", "--only", "sluice"],
    "bench": ["sluice.ops.cli.main", "bench", "embedded", "--runs", "50"],
}


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_a_long_run_that_sigterm_ends_leaves_nothing(words: Sequence[str], tells: Path) -> None:
    with started([sys.executable, "-m", *words], tells) as process:
        deadline = time.monotonic() + START_S
        while not any(Path(command[0]).name == "postgres" for command in processes(tells) if command):
            assert_at_work(process, tells, deadline)
        process.send_signal(signal.SIGTERM)
        process.wait(END_S)
    assert_nothing_left(tells, set())
