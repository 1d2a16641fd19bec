"""What a flight needs of the world around it, handed in: so that a test flies through hours in no time."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sluice.jobs.sagas.entry import Failure
from sluice.jobs.sagas.journal import Journal


class Means(Struct, frozen=True, kw_only=True):
    """``clock_s`` never goes back; ``chance`` draws from 0 to below 1. ``pause`` waits for so many seconds, or less:
    true where it was ended because the run is to stop, which ``stopped`` tells as well. ``over_time`` says by how much
    the run has lasted longer than it may, if it has. ``call`` calls a function with the flight, and awaits what has to
    be; ``blame`` puts what it has raised into words.
    """

    journal: Journal
    clock_s: Callable[[], float]
    chance: Callable[[], float]
    pause: Callable[[float], bool]
    stopped: Callable[[], bool]
    over_time: Callable[[], str | None]
    call: Callable[[Callable[..., Any], Any], object]
    blame: Callable[[BaseException], Failure]
