"""Commands that go on until they are told to stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

#: A signal that came at a bad moment is heard within this.
HEARD_WITHIN_S = 0.5


class Stop(Event):
    """Waits without an end only seem to have none: a signal that comes between the interpreter's look for one and the
    wait itself is heard when that is over (seen with many threads on a busy machine, one in a hundred ends)."""

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            return super().wait(timeout)
        while not super().wait(HEARD_WITHIN_S):
            pass
        return True


@contextmanager
def told_to_stop() -> Iterator[Stop]:
    """Set by the first signal, so that what runs gets its grace time; the next one interrupts that."""
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
