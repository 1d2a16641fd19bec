"""A Postgres of a run's own, with its data on disk at each commit, to be killed and restarted."""

import os
import signal
from pathlib import Path

import psycopg

from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.embedded import EmbeddedPostgres, start
from sluice.ledger.schema import migrate

_DEADLOCK = "deadlock detected"


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
        """Return the deadlocks in its log.

        The statistics are reset at each restart, and transactions that were aborted are retried, so they show nowhere
        else.
        """
        logs = sorted((self._home / "postgres").glob("postgres.log*"))
        return [
            line for log in logs for line in log.read_text(errors="replace").splitlines() if _DEADLOCK in line
        ]

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
