"""Commands that go on until they are told to stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def told_to_stop() -> Iterator[Event]:
    """Set by the first signal, so that what runs gets its grace time; the next one interrupts that."""
    stop = Event()
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
