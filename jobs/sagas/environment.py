"""Environment of a flight, passed in so that a test can run hours of a flight without delay."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sluice.jobs.sagas.journal import Failure, Journal


class Means(Struct, frozen=True, kw_only=True):
    """Functions that a flight needs from its environment.

    ``clock_s`` never decreases. ``chance`` draws a number from 0 to below 1. ``pause`` waits for the given seconds or
    less, and returns true if it ended early because the run must stop; ``stopped`` also shows that. ``over_time``
    returns a text if the run has exceeded its timeout, or None. ``call`` calls a function with the flight, and awaits
    the result if needed. ``blame`` turns an exception into a failure with a text.
    """

    journal: Journal
    clock_s: Callable[[], float]
    chance: Callable[[], float]
    pause: Callable[[float], bool]
    stopped: Callable[[], bool]
    over_time: Callable[[], str | None]
    call: Callable[[Callable[..., Any], Any], object]
    blame: Callable[[BaseException], Failure]
