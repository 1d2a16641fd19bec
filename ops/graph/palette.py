"""Colour of each state in pictures, in light and in dark mode."""

from typing import NamedTuple

from sluice.jobs.states import State


class Colour(NamedTuple):
    """Fill colour of a box, on white and on black paper."""

    light: str
    dark: str


APP = Colour("#eceff3", "#30353c")
_UNDER_WAY = Colour("#a5d8f3", "#17557a")
_DEAD = Colour("#f29d9d", "#8a2727")
_GONE = Colour("#dcdcdc", "#4a4a4a")
COLOURS = {
    State.EXPECTED: Colour("#fdf6dc", "#3b3724"),
    State.WAITING: Colour("#f7e09a", "#665410"),
    State.READY: Colour("#c0cbf8", "#38468f"),
    State.RUNNING: _UNDER_WAY,
    State.SUSPENDED: Colour("#e0c2f0", "#5a3570"),
    State.EXECUTED: _UNDER_WAY,
    State.SUCCEEDED: Colour("#a9dfb4", "#1f5f33"),
    State.FAILED: _DEAD,
    State.FATAL: _DEAD,
    State.TIMED_OUT: _DEAD,
    State.EXPIRED: _DEAD,
    State.SKIPPED: _GONE,
    State.CANCELLED: _GONE,
    State.UPSTREAM_FAILED: Colour("#f8d5cb", "#5b362d"),
    State.SPLIT: _GONE,
}


def colour(state: State | None) -> Colour:
    """Return the colour of a state. An app has no state and a colour of its own."""
    return APP if state is None else COLOURS[state]
