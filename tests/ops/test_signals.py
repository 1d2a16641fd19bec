"""Signals that arrive at any line of a wait for them, or of the code that handles them."""

import math
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

import pytest

from sluice.ops.cli import local_worker
from sluice.ops.cli.local_worker import StopEvent, told_to_stop

#: Files in which the lines are counted.
TRACED = {"stopping.py", "threading.py"}


@contextmanager
def calling_at_each_line(act: Callable[[], object]) -> Iterator[None]:
    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if Path(frame.f_code.co_filename).name not in TRACED:
            return None
        if event == "line":
            act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_of(act: Callable[[StopEvent], object]) -> int:
    lines = list[None]()
    with calling_at_each_line(lambda: lines.append(None)):
        act(StopEvent())
    return len(lines)


def ends_if_signalled_at(line: int, act: Callable[[StopEvent], object]) -> bool:
    """Return whether the wait reports a signal that arrives before the line with this number."""
    left = iter(range(line, -1, -1))

    def send() -> None:
        if next(left, None) == 0:
            signal.raise_signal(signal.SIGTERM)

    with told_to_stop() as stop:
        with calling_at_each_line(send):
            act(stop)
        return stop.is_set()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("timeout_s", [math.inf, 3600.0])
def test_a_signal_at_any_line_of_a_wait_ends_it(timeout_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_worker, "HEARD_WITHIN_S", 0.01)
    # The wait has several slices, so that it executes every line of the loop.
    lines = lines_of(lambda stop: stop.wait(0.035))
    assert lines > 20
    assert all(ends_if_signalled_at(line, lambda stop: stop.wait(timeout_s)) for line in range(lines))


@pytest.mark.timeout(30)
def test_a_signal_may_arrive_while_another_is_handled() -> None:
    lines = lines_of(StopEvent.set)
    assert lines > 5
    assert all(ends_if_signalled_at(line, StopEvent.set) for line in range(lines))


def test_a_wait_without_a_signal_ends_after_its_timeout() -> None:
    stop = StopEvent()
    assert not stop.wait(0.01)
    assert not stop.is_set()


@pytest.mark.timeout(30)
def test_all_waiting_threads_are_released() -> None:
    stop = StopEvent()
    threads = [Thread(target=stop.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    stop.set()
    for thread in threads:
        thread.join()
    assert stop.wait()
