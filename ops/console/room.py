"""How many are let in, are seen to, and listen, each at once.

A connection is let in and has a thread until it ends. It has a place only from the first byte of a request until that
is answered, so those that are kept open for a request to come take no place from anybody. Whoever listens to what goes
on leaves his place, and has a seat.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, local

#: Whoever finds all places taken is not turned away before so long: most requests take less.
PLACE_WITHIN_S = 1.0


class Room:
    """What holds: a thread has one place at the most, and gives it back once, whichever way it leaves."""

    def __init__(self, *, connections: int, places: int, seats: int) -> None:
        self._connections = BoundedSemaphore(connections)
        self._places = BoundedSemaphore(places)
        self._seats = BoundedSemaphore(seats)
        self._here = local()

    def let_in(self) -> bool:
        """Whether one more connection has room. It does not wait: whoever accepts connections has others to accept."""
        return self._connections.acquire(blocking=False)

    def let_out(self) -> None:
        self._connections.release()

    @contextmanager
    def placed(self) -> Iterator[bool]:
        """A place for as long as the block lasts, or until it is left, if one is free."""
        if not self._places.acquire(timeout=PLACE_WITHIN_S):
            yield False
            return
        self._here.has_place = True
        try:
            yield True
        finally:
            self.leave_place()

    def leave_place(self) -> None:
        """To others, because there is nothing to do here but to wait."""
        if self._here.has_place:
            self._here.has_place = False
            self._places.release()

    @contextmanager
    def seated(self) -> Iterator[bool]:
        """A seat for as long as the block lasts, if one is free; the place is left for it."""
        if not self._seats.acquire(blocking=False):
            yield False
            return
        try:
            self.leave_place()
            yield True
        finally:
            self._seats.release()
