"""Stop event for commands that run until they are stopped."""

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, RLock
from time import monotonic

#: Seconds after which a wait checks again whether a signal arrived just before it blocked.
HEARD_WITHIN_S = 0.5


class Stop:
    """Event that a signal handler can set.

    A handler runs in the main thread, between any two lines of a wait. ``threading.Event`` deadlocks there if the wait
    holds its lock, because that lock is not reentrant. A signal between the last check and the blocking call wakes
    nothing, so a wait blocks for at most ``HEARD_WITHIN_S`` at a time.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._changed = Condition(RLock())

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Return whether it is set, after at most this time."""
        deadline = monotonic() + timeout_s
        while not self._is_set and (left_s := deadline - monotonic()) > 0:
            with self._changed:
                self._changed.wait(min(left_s, HEARD_WITHIN_S))
        return self._is_set


@contextmanager
def told_to_stop() -> Iterator[Stop]:
    """Yield an event that the first signal sets, so that running jobs get their grace time. The next signal interrupts
    the command.
    """
    stop = Stop()
    before = {}

    def hear(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler)

    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    for number in (signal.SIGINT, signal.SIGTERM, *hangup):
        before[number] = signal.signal(number, hear)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
