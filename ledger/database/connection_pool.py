"""Pool of connections with a usual and a highest number, without threads of its own.

``ConnectionTurns`` bounds how many callers have a connection at the same time. While the usual number of callers have
one, others wait, the first one first. A connection is used for a few milliseconds, so few of them serve many threads. A
wait longer than ``WAIT_S`` means that transactions are long, for example plans of large submissions. Then the caller
gets a connection beyond the usual number, up to the highest. So a heartbeat is never late because of other
transactions.

No deadlock: a thread that has a connection and takes a second one from the pool waits for ``WAIT_S``, not until
another thread gives its connection back. It waits for that only at the highest number, for the caller's patience at
most. The work of a transaction takes no second connection. Users' code may, while it has the connection of its own
transaction. So these have ``ConnectionTurns`` of their own, in which each thread has one turn.

Connections wait on a stack, so that a process at rest uses the same few of them. A connection that is given back beyond
the number to keep is closed, and so is a connection that is old or was not used for long. A caller that finds none
makes one in its own thread. A lost connection is closed by the caller that has noticed it, and by ``check``.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock
from time import monotonic
from typing import Generic, TypeVar

import psycopg
from msgspec import Struct
from psycopg import Connection, pq

from sluice.jobs.observe.outages import OutageLog

C = TypeVar("C", bound=Connection)

#: Seconds after which a caller gets a connection beyond the usual number: 0.2, fifty times a usual transaction, and
#: a fifth of the time between two heartbeats of the shortest lease in use, 3 s.
WAIT_S = 0.2
#: Seconds between two attempts to connect: the first pause, and the longest.
PAUSE_S, PAUSE_S_MAX = 0.05, 1.0
#: Seconds after which a connection is closed when it is given back, because its process in the server grows.
LIFETIME_S = 3600.0
#: Seconds after which a connection that waits is closed.
IDLE_S = 600.0
#: Seconds without a failed attempt after which an older connection is sufficient proof that the server answers. Before
#: that, only a connection made since is: a server without a free connection still answers the existing ones.
NO_FAILURE_S = 10.0


class ConnectionLimits(Struct, frozen=True):
    """Numbers of connections of a process: the usual one, and the highest."""

    usual: int
    most: int


class NoConnection(psycopg.OperationalError):
    """Raised when a caller has waited in vain for a connection."""


class _Waiter:
    """A caller that waits. ``is_urgent``: it has waited for ``WAIT_S``."""

    def __init__(self) -> None:
        self.turn = Lock()
        self.turn.acquire()
        self.is_urgent = False


class ConnectionTurns:
    """Bound of the callers that have a connection at the same time."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._usual, self._most = limits.usual, limits.most
        self._taken = 0
        self._waiting: deque[_Waiter] = deque()
        self._lock = Lock()

    def take(self, deadline: float) -> None:
        """Wait for a turn. NoConnection if there is none until the deadline."""
        with self._lock:
            if self._taken < self._usual:
                self._taken += 1
                return
            waiter = _Waiter()
            self._waiting.append(waiter)
        try:
            has_turn = self._wait(waiter, deadline)
        except BaseException:  # An interrupt during the wait, after which the turn may be this caller's.
            if self._has_turn_after_all(waiter):
                self.give()
            raise
        if not has_turn and not self._has_turn_after_all(waiter):
            raise NoConnection(f"all {self._most} connections of this process are in use")

    def give(self) -> None:
        """End a turn. A caller that waits has it next, unless more than the usual number are taken."""
        with self._lock:
            waiting = (
                self._waiting if self._taken <= self._usual else [w for w in self._waiting if w.is_urgent]
            )
            if not waiting:
                self._taken -= 1
                return
            waiter = waiting[0]
            self._waiting.remove(waiter)
            waiter.turn.release()

    def _wait(self, waiter: _Waiter, deadline: float) -> bool:
        """Wait for a turn until the deadline. Return whether the caller has it."""
        return (
            waiter.turn.acquire(timeout=WAIT_S)
            or self._take_more(waiter)
            or waiter.turn.acquire(timeout=max(deadline - monotonic(), 0.0))
        )

    def _has_turn_after_all(self, waiter: _Waiter) -> bool:
        """End the wait of a caller. Return whether it was given a turn at the last moment."""
        with self._lock:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                return False
            return True

    def _take_more(self, waiter: _Waiter) -> bool:
        """Take a turn beyond the usual number. Return whether the caller has a turn now."""
        with self._lock:
            if waiter not in self._waiting:
                return True
            waiter.is_urgent = True
            if self._taken >= self._most:
                return False
            self._waiting.remove(waiter)
            self._taken += 1
            return True


class ConnectionPool(Generic[C]):
    """Connections that ``connect`` makes. At most ``kept`` of them wait to be used again. ``outages`` is the log of the
    server's outages."""

    def __init__(self, connect: Callable[[], C], kept: int, outages: OutageLog) -> None:
        self._connect = connect
        self._kept = kept
        self.outages = outages
        self._lock = Lock()
        #: Connections that wait, with the time since when.
        self._idle: list[tuple[C, float]] = []
        self._until: dict[C, float] = {}
        self._closed = Event()
        self._failed_at = float("-inf")

    @contextmanager
    def connection(self, turns: ConnectionTurns, *, patience_s: float) -> Iterator[C]:
        """Take a connection until the end of the block. Its transaction is committed there, or rolled back after an
        exception. NoConnection if there is none within ``patience_s``."""
        deadline = monotonic() + patience_s
        turns.take(deadline)
        try:
            connection = self._taken(deadline)
            try:
                yield connection
                if connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
                    connection.commit()
                if self.outages.is_open:
                    self._note_answer(connection)
            finally:
                self._give_back(connection)
        finally:
            turns.give()

    def check(self) -> None:
        """Close the connections that wait and are lost."""
        with self._lock:
            waiting, self._idle = self._idle, []
        for connection, since in waiting:
            if _answers(connection):
                with self._lock:
                    self._idle.append((connection, since))
            else:
                self._drop(connection)

    def close(self) -> None:
        """Close the connections that wait, and each other one when it is given back."""
        self._closed.set()
        with self._lock:
            waiting, self._idle = self._idle, []
        for connection, _ in waiting:
            self._drop(connection)

    def _taken(self, deadline: float) -> C:
        with self._lock:
            if self._idle:
                return self._idle.pop()[0]
        connection = self._made(deadline)
        with self._lock:
            self._until[connection] = monotonic() + LIFETIME_S
        return connection

    def _made(self, deadline: float) -> C:
        """Connect. Attempts are repeated until the deadline, because a server may be back soon."""
        pause_s = PAUSE_S
        while True:
            if self._closed.is_set():
                raise NoConnection("the connections of this process are closed")
            try:
                connection = self._connect()
            except psycopg.OperationalError as error:
                self._failed_at = monotonic()
                self.outages.failed(error)
                if monotonic() + pause_s >= deadline:
                    raise NoConnection(str(error)) from error
                self._closed.wait(pause_s)
                pause_s = min(2 * pause_s, PAUSE_S_MAX)
            else:
                return connection

    def _note_answer(self, connection: C) -> None:
        """Report the answer to a transaction, if it proves that the outage is over."""
        made_at = self._until[connection] - LIFETIME_S
        if made_at >= self._failed_at or monotonic() - self._failed_at > NO_FAILURE_S:
            self.outages.answered()

    def _give_back(self, connection: C) -> None:
        if connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.rollback()
        now = monotonic()
        is_good = (
            connection.pgconn.transaction_status == pq.TransactionStatus.IDLE
            and not self._closed.is_set()
            and now < self._until[connection]
        )
        stale = []
        with self._lock:
            if self._idle and self._idle[0][1] < now - IDLE_S:
                stale.append(self._idle.pop(0)[0])
            if is_good and len(self._idle) < self._kept:
                self._idle.append((connection, now))
            else:
                stale.append(connection)
        for each in stale:
            self._drop(each)

    def _drop(self, connection: C) -> None:
        with self._lock:
            self._until.pop(connection, None)
        connection.close()


def _answers(connection: Connection) -> bool:
    result = connection.pgconn.exec_(b"")
    return result.status == pq.ExecStatus.EMPTY_QUERY
