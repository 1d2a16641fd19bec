"""A Postgres of a run's own, with its data on disk at each commit, to be killed and restarted."""

import os
import re
import signal
from pathlib import Path

import psycopg

from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.embedded import EmbeddedPostgres, start
from sluice.ledger.schema import migrate

_DEADLOCK = "deadlock detected"
#: Beginning of an entry of the log. Its DETAIL, CONTEXT and STATEMENT have the same prefix and follow it.
_ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d .*(?:ERROR|LOG|FATAL|PANIC|WARNING):)", re.MULTILINE)


class Database:
    """Database with a constant URL."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._server: EmbeddedPostgres = start(home)
        self.url = in_schema(self._server.url, SCHEMA)
        migrate.upgrade(self.url)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE sluice SET log_min_messages TO error")

    def deadlocks(self) -> list[str]:
        """Return the deadlocks in its log, each with the processes, their statements and the rows that they locked.

        The statistics are reset at each restart, and transactions that were aborted are retried, so they show nowhere
        else.
        """
        logs = sorted((self._home / "postgres").glob("postgres.log*"))
        entries = [entry for log in logs for entry in _ENTRY.split(log.read_text(errors="replace"))]
        return [entry for entry in entries if _DEADLOCK in entry]

    def kill(self) -> None:
        """Send SIGKILL to the postmaster. Its children notice, and end in the middle of their work."""
        lines = (self._home / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
        os.kill(int(lines[0]), signal.SIGKILL)

    def bring_back(self) -> None:
        """Restart the database.

        When this returns, the killed server's last process is gone and commits are recovered.
        """
        killed, self._server = self._server, start(self._home)
        killed.close()
        if in_schema(self._server.url, SCHEMA) != self.url:
            raise RuntimeError(f"the database of {self._home} is back under another address")

    def close(self) -> None:
        self._server.close()
