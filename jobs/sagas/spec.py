"""Definition of an app with job type ``saga``, in addition to the common options."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

#: Takes a ``Flight`` and returns its ``Step``s. It is called at each pick-up of the flight and must return the same
#: steps each time. The types are not named here, because a flight refers to its claim, a claim to its app, and an app
#: to its saga.
Build = Callable[[Any], Sequence[Any]]
#: Optional methods of a hook.
HOOK_METHODS = ("start_flight", "end_flight", "start_step", "end_step")


class Saga(Struct, frozen=True, kw_only=True):
    """Definition of a saga. ``context`` is called once per process, before its first flight; ``flight.context`` is its
    result.

    ``hooks`` are notified during each run of a flight (``jobs.sagas.hooks``). A class or function among them is called
    with the flight, and its result is the hook of that run.
    """

    build: Build
    context: Callable[[], Any] | None = None
    hooks: tuple[Any, ...] = ()
