"""What an app of job type ``saga`` is, beside what every app is."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

#: Takes a ``Flight`` and makes its ``Step``s: the same each time, for it is called whenever the flight is taken up.
#: Neither type is named, since a flight knows its claim, a claim its app, and an app its saga.
Build = Callable[[Any], Sequence[Any]]
#: What a hook may have, each of which it may do without.
HOOK_METHODS = ("start_flight", "end_flight", "start_step", "end_step")


class Saga(Struct, frozen=True, kw_only=True):
    """``context`` is called once in each process, before the first flight there; what it makes is ``flight.context``.

    ``hooks`` hear what happens in each run of a flight (``jobs.sagas.hooks``); a class or function among them is called
    with the flight, and what it makes is the hook of that run.
    """

    build: Build
    context: Callable[[], Any] | None = None
    hooks: tuple[Any, ...] = ()
