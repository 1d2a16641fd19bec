"""Connections through a pooler in transaction mode, for example PgBouncer.

The server's connection changes from one transaction to the next. So nothing may rely on a session:

- The settings of the session are made by the first statement of each transaction, until its end (``opening``). BEGIN,
  this statement, the preparation and the first statement of the work are one round trip.
- A statement is prepared within the transaction, where the search path is the ledger's.
- Prepared statements have names only if the pooler tracks them, as PgBouncer does from 1.21 on. Otherwise two clients
  would use the same name for different statements on one connection of the server, and one would run the other's. So
  each connection examines its pooler when it is made (``examine``). Statements without names are parsed and planned
  each time.

LISTEN, session locks and transactions of users do not go through a pooler (``Ledger.apart``, ``Ledger.transaction``).
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock

import psycopg
from psycopg import pq

from sluice.ledger.database.driver import (
    PREPARED_MAX,
    BoundStatement,
    CursorConnection,
    PreparedConnection,
)

_LOG = logging.getLogger("sluice.ledger")

_PROBE = b"sluice_probe"
#: A pooler that tracks prepared statements gives them other names on the server.
_IS_RENAMED = b"SELECT count(*) = 0 FROM pg_prepared_statements WHERE name = 'sluice_probe'"


class PooledCursorConnection(CursorConnection):
    """Connection through a pooler, with waits that can be interrupted."""

    opening = b""

    @contextmanager
    def begun(self) -> Iterator[None]:
        self.asked += 3
        with self.transaction():
            self.execute(self.opening)
            yield


class PooledConnection(PreparedConnection):
    """Connection through a pooler, with waits that cannot be interrupted.

    ``tracks_statements``: the pooler prepares a statement again on each connection of the server that lacks it.
    """

    opening = b""
    tracks_statements = False

    def examine(self) -> None:
        """Find out whether the pooler tracks prepared statements. Leaves none behind if it does not."""
        self._command(b"BEGIN")
        try:
            self._checked(self.pgconn.prepare(_PROBE, _IS_RENAMED))
            found = self._checked(self.pgconn.exec_prepared(_PROBE, None))
            self.tracks_statements = found.get_value(0, 0) == b"t"
            if not self.tracks_statements:
                self._command(b"DEALLOCATE " + _PROBE)
        except psycopg.errors.DuplicatePreparedStatement:
            # Left on the server by a client that was lost meanwhile.
            self.tracks_statements = False
        finally:
            self._command(b"ROLLBACK")

    def _answer(self, bound: BoundStatement) -> pq.abc.PGresult:
        self.asked += 1
        sends: list[Callable[[], None]] = []
        if self._is_begun and self._is_idle:
            sends += [self._send_begin, self._send_opening]
        key = (bound.text, bound.types)
        name = self._prepared_here.get(key)
        if name is None and self.tracks_statements and len(self._prepared_here) < PREPARED_MAX:
            name = self._next_name()
            sends.append(partial(self.pgconn.send_prepare, name, bound.text, bound.types))
        if not sends:
            return self._answer_alone(name, bound)
        sends.append(partial(self._send, name, bound) if name else partial(self._send_unnamed, bound))
        result = self._last_of(sends)
        if name is not None:
            self._prepared_here[key] = name
        return result

    def _answer_alone(self, name: bytes | None, bound: BoundStatement) -> pq.abc.PGresult:
        if name is not None:
            return self.pgconn.exec_prepared(name, bound.values, bound.formats)
        return self.pgconn.exec_params(bound.text, bound.values, bound.types, bound.formats)

    def _send_opening(self) -> None:
        self.pgconn.send_query_params(self.opening, None)

    def _send_unnamed(self, bound: BoundStatement) -> None:
        self.pgconn.send_query_params(bound.text, bound.values, bound.types, bound.formats)


class PoolerSetup:
    """Setup of each new connection through a pooler. A pooler without tracked statements is logged once."""

    def __init__(self, opening: str, *, where: str) -> None:
        self._opening = opening.encode()
        self._where = where
        self._lock = Lock()
        self._is_logged = False

    def __call__(self, connection: CursorConnection) -> None:
        if isinstance(connection, PooledCursorConnection):
            connection.opening = self._opening
        elif isinstance(connection, PooledConnection):
            connection.opening = self._opening
            connection.examine()
            if not connection.tracks_statements:
                self._warn()

    def _warn(self) -> None:
        with self._lock:
            if self._is_logged:
                return
            self._is_logged = True
        _LOG.warning(
            "The pooler at %s does not track prepared statements, so each statement is parsed and planned each time."
            " PgBouncer does from 1.21 on, with max_prepared_statements = 500.",
            self._where,
        )
