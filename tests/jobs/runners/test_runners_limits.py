"""Limits at which a run must end."""

import threading

from sluice.jobs.runners.stop_signal import Halt, Limits


def limits(timeout_s: float | None, *, stopped: bool = False) -> Limits:
    stop = threading.Event()
    if stopped:
        stop.set()
    return Limits(stop, timeout_s)


def test_without_a_timeout_only_a_stop_ends_a_run() -> None:
    assert limits(None).reached() is None
    assert limits(None, stopped=True).reached() is Halt.STOPPED


def test_a_run_that_is_over_its_timeout_and_stopped_is_timed_out() -> None:
    assert limits(0.0, stopped=True).reached() is Halt.TIMED_OUT


def test_a_run_that_reported_its_end_is_only_limited_by_the_linger_time() -> None:
    told = limits(0.0, stopped=True)
    told.linger(60)
    assert told.reached() is None
    told.linger(0)
    assert told.reached() is Halt.LINGERED


def test_waits_do_not_exceed_the_deadline() -> None:
    assert limits(None).within_s(0.1) == 0.1
    assert limits(0.0).within_s(0.1) == 0.0
    assert 0 < limits(60).within_s(100) <= 60
