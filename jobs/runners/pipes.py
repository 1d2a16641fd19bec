"""Pipes of one run, read as they fill."""

import os
import selectors
from collections.abc import Callable

_CHUNK_BYTES = 64 * 1024
#: Maximum number of reads after the end. A pipe holds less, so only a writer outside the group can reach it.
_REST_CHUNKS = 64

Sink = Callable[[bytes], None]


class Pipes:
    """Pipes that are each read into a sink until their end."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    @property
    def open(self) -> bool:
        return bool(self._selector.get_map())

    def add(self, descriptor: int, sink: Sink) -> None:
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ, sink)

    def drain(self, wait_s: float) -> bool:
        """Read one chunk of each pipe that has data, waiting for the first. Return False if none had any."""
        ready = self._selector.select(wait_s)
        for key, _ in ready:
            chunk = os.read(key.fd, _CHUNK_BYTES)
            if chunk:
                key.data(chunk)
            else:
                self._selector.unregister(key.fd)
        return bool(ready)

    def rest(self) -> None:
        """Read the remaining data in the pipes after the group has ended."""
        for _ in range(_REST_CHUNKS):
            if not self.drain(0):
                return

    def close(self) -> None:
        self._selector.close()
