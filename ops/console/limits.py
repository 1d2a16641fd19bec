"""Limits on the connections, requests and streams that the console serves at the same time.

Invariants:

- A connection has a thread until it ends. It takes a place (``places``) only after its request was read completely,
  and until the answer is known. So neither idle nor slow connections keep a request waiting. Probes and metrics need
  no place: their time is bounded, and their cost does not depend on the number of requests.
- A connection *rests* while it waits for a request, sends a request, waits out the pause after a wrong token, or
  reads its answer. If there is no room for a new connection, the connection that has rested longest is closed. If
  the new connection's address has as many connections as an address may have, a connection of that address is
  closed. So connections with complete requests are not closed.
- A stream leaves its place and takes a seat (``seats``).
"""

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv6Address
from threading import BoundedSemaphore, Event, Lock, local

from msgspec import Struct

#: Seconds that a request waits for a place before it is answered with 503. Most requests take less.
PLACE_WITHIN_S = 1.0


class _Guest(Struct):
    """One connection."""

    network: str
    gone: Event
    rests: bool = True


class Room:
    """Places, seats and connections. A thread has at most one place, and returns it once, however it leaves."""

    def __init__(self, *, connections: int, connections_of_one: int, places: int, seats: int) -> None:
        self._connections_max = connections
        self._connections_of_one_max = connections_of_one
        self._places = BoundedSemaphore(places)
        self._seats = BoundedSemaphore(seats)
        self._here = local()
        self._lock = Lock()
        # In the order in which they began to rest.
        self._guests: dict[socket.socket, _Guest] = {}
        self._of_network: Counter[str] = Counter()
        self._is_closed = False

    def let_in(self, connection: socket.socket, address: str) -> bool:
        """Return whether there is room for this connection, if necessary in place of another one. If so, it is
        admitted. Does not wait.
        """
        network = network_of(address)
        with self._lock:
            is_crowd = self._of_network[network] >= self._connections_of_one_max
            if not is_crowd and len(self._guests) < self._connections_max:
                self._add(connection, network)
                return True
            resting = (
                each
                for each, guest in self._guests.items()
                if guest.rests and (guest.network == network or not is_crowd)
            )
            oldest = next(resting, None)
            if oldest is None:
                return False
            self._remove(oldest)
            self._add(connection, network)
            # Under the lock. Otherwise its own thread could close it first, and another file could get its number.
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
            return True

    def let_out(self, connection: socket.socket) -> None:
        with self._lock:
            self._remove(connection)

    def rests(self, connection: socket.socket) -> None:
        """Mark a connection as resting: it may be closed in favour of another one."""
        with self._lock:
            guest = self._guests.pop(connection, None)
            if guest is not None:
                guest.rests = True
                self._guests[connection] = guest

    def works(self, connection: socket.socket) -> bool:
        """Mark a connection as working: it is not closed any more. Return False if it was closed before."""
        with self._lock:
            guest = self._guests.get(connection)
            if guest is not None:
                guest.rests = False
            return guest is not None

    def hold_back(self, connection: socket.socket, seconds: float) -> None:
        """Wait without a place. The wait ends early if the connection or the room is closed."""
        self.leave_place()
        self.rests(connection)
        with self._lock:
            guest = self._guests.get(connection)
            if guest is None or self._is_closed:
                return
        guest.gone.wait(seconds)

    def close(self) -> None:
        """End the waits of all answers."""
        with self._lock:
            self._is_closed = True
            for guest in self._guests.values():
                guest.gone.set()

    @contextmanager
    def placed(self, *, is_needed: bool = True) -> Iterator[bool]:
        """Hold a place until the block ends or ``leave_place``. Yield False if no place becomes free in time. A bounded
        request needs none.
        """
        if not is_needed:
            yield True
            return
        if not self._places.acquire(timeout=PLACE_WITHIN_S):
            yield False
            return
        self._here.has_place = True
        try:
            yield True
        finally:
            self.leave_place()

    def leave_place(self) -> None:
        """Return this thread's place, if it has one."""
        if getattr(self._here, "has_place", False):
            self._here.has_place = False
            self._places.release()

    @contextmanager
    def seated(self) -> Iterator[bool]:
        """Hold a seat instead of the place until the block ends. Yield False if no seat is free."""
        if not self._seats.acquire(blocking=False):
            yield False
            return
        try:
            self.leave_place()
            yield True
        finally:
            self._seats.release()

    def _add(self, connection: socket.socket, network: str) -> None:
        self._guests[connection] = _Guest(network, Event())
        self._of_network[network] += 1

    def _remove(self, connection: socket.socket) -> None:
        guest = self._guests.pop(connection, None)
        if guest is None:
            return
        guest.gone.set()
        self._of_network[guest.network] -= 1
        if not self._of_network[guest.network]:
            del self._of_network[guest.network]


def network_of(address: str) -> str:
    """Return the address, or the /64 network of an IPv6 address, because one machine may use all addresses of its
    network.
    """
    if ":" not in address:
        return address
    found = IPv6Address(address.partition("%")[0])
    return str(found.ipv4_mapped or found.packed[:8].hex())
