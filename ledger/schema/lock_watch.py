"""Sessions that an upgrade waits for.

A thread with a connection of its own asks the server every ``PAUSE_S`` seconds which sessions block the sessions of the
upgrade, and logs them. The waiting sessions cannot ask: each waits inside a statement. After a wait has ended the
server does not know any more which sessions it was for, so the thread keeps the last answer for the error.

The thread changes nothing and takes no lock. If it cannot connect or its connection is lost, it logs this, and the
upgrade continues without it.
"""

import logging
import time
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

import psycopg
from msgspec import Struct
from psycopg.rows import class_row

from sluice.ledger.database.conninfo import complete

_LOG = logging.getLogger("sluice.ledger")

#: Seconds between two questions. A migration waits a second for each of its locks, so it is asked about several times.
PAUSE_S = 0.2
#: Seconds after which unchanged blocking sessions are logged again.
REPEAT_S = 10.0
#: Name of the watching connection in ``pg_stat_activity``.
_NAME = "sluice db upgrade, watching locks"

# A prepared transaction blocks as pid 0. State and times of other roles' sessions are visible to members of
# pg_read_all_stats only.
_BLOCKERS = """
SELECT DISTINCT blocking.pid, coalesce(usename, '') AS user,
       coalesce(nullif(application_name, ''), 'unnamed') AS application, coalesce(state, '') AS state,
       extract(epoch FROM clock_timestamp() - xact_start)::float AS open_s,
       to_char(query_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS query_start
FROM unnest(%s::int[]) AS waiting (pid) CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocking (pid)
LEFT JOIN pg_stat_activity activity ON activity.pid = blocking.pid
WHERE blocking.pid <> ALL (%s::int[]) ORDER BY blocking.pid
"""


class Blocker(Struct, frozen=True):
    """Session that holds a lock which an upgrade waits for, or has requested it earlier. ``pid`` is 0 for a prepared
    transaction. ``open_s`` and ``query_start`` (UTC) are None if this role may not see them.
    """

    pid: int
    user: str
    application: str
    state: str
    open_s: float | None
    query_start: str | None

    def __str__(self) -> str:
        if self.pid == 0:
            return "a prepared transaction (see pg_prepared_xacts)"
        parts = [f"user {self.user}", self.application]
        if self.state:
            parts.append(self.state)
        if self.open_s is not None:
            parts.append(f"transaction open for {self.open_s:.0f} s")
        if self.query_start:
            parts.append(f"last statement begun at {self.query_start} UTC")
        return f"pid {self.pid} ({', '.join(parts)})"


class LockWatch:
    """Context manager that watches the sessions of an upgrade (``follow``)."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pids: list[int] = []
        self._last: tuple[Blocker, ...] = ()
        self._lock = Lock()
        self._ended = Event()
        self._thread = Thread(target=self._watch, name="lock watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def follow(self, pid: int) -> None:
        """Watch one more session of the upgrade."""
        with self._lock:
            self._pids.append(pid)

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        """The sessions that blocked the upgrade when it last waited. Empty if it never had to."""
        return self._last

    def _watch(self) -> None:
        try:
            with psycopg.connect(
                complete(self._url), autocommit=True, application_name=_NAME, row_factory=class_row(Blocker)
            ) as connection:
                self._ask_repeatedly(connection)
        except psycopg.Error as error:
            _LOG.warning(
                "the sessions that block a migration cannot be listed: %s", " ".join(str(error).split())
            )

    def _ask_repeatedly(self, connection: psycopg.Connection[Blocker]) -> None:
        logged: list[int] = []
        logged_at = 0.0
        while not self._ended.wait(PAUSE_S):
            with self._lock:
                pids = list(self._pids)
            found = tuple(
                connection.execute(_BLOCKERS, [pids, [*pids, connection.info.backend_pid]]).fetchall()
            )
            if not found:
                continue
            self._last = found
            now = time.monotonic()
            if [each.pid for each in found] != logged or now - logged_at >= REPEAT_S:
                _LOG.warning("waiting for a lock of %s", "; ".join(map(str, found)))
                logged, logged_at = [each.pid for each in found], now
