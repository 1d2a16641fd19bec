"""Postgres with a streaming replica, both of a test's own. Each may be killed, and the replica promoted."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.embedded import binaries
from sluice.ledger.embedded.binaries import Binaries, Machine
from sluice.ledger.embedded.os_user import Account, account_for
from tests.leashed import Program
from tests.private_servers import free_port

START_S_MAX = 120.0
_IS_CAUGHT_UP = "SELECT count(*) = 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()"


class PostgresServer:
    """A Postgres with its data in the folder ``data``. It accepts connections of this machine without a password."""

    def __init__(self, folder: Path, account: Account, programs: Binaries) -> None:
        self._port = free_port()
        self.place = f"127.0.0.1:{self._port}"
        self.url = in_schema(f"postgresql://sluice@{self.place}/postgres", SCHEMA)
        settings = {"listen_addresses": "127.0.0.1", "port": self._port, "unix_socket_directories": ""}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [*account.namespace, str(programs.postgres), "-D", str(folder / "data"), *options]
        self._program = Program(command, folder, {"PATH": os.defpath})

    def start(self) -> None:
        self._program.start()
        eventually(self._answers)

    def kill(self) -> None:
        """Send SIGKILL to all processes of the server."""
        self._program.kill()

    def ask(self, sql: str) -> object:
        """Run a statement outside of a transaction, and return its only value."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

    @property
    def address(self) -> str:
        return f"host=127.0.0.1 port={self._port} user=sluice"

    def _answers(self) -> bool:
        try:
            return self.ask("SELECT 1") == 1
        except psycopg.OperationalError:
            return False


class Pair:
    """A primary, and a replica that follows it."""

    def __init__(self, primary: PostgresServer, replica: PostgresServer) -> None:
        self.primary = primary
        self.replica = replica
        #: Address of both servers. It leads to the one that accepts writes.
        self.url = in_schema(
            f"postgresql://sluice@{primary.place},{replica.place}/postgres?target_session_attrs=read-write",
            SCHEMA,
        )

    def catch_up(self) -> None:
        """Wait until the replica has everything that the primary has committed."""
        eventually(lambda: self.primary.ask(_IS_CAUGHT_UP) is True)

    def cut_off(self) -> None:
        """Let the replica receive nothing more."""
        self.replica.ask("ALTER SYSTEM SET primary_conninfo = ''")
        self.replica.ask("SELECT pg_reload_conf()")
        eventually(lambda: self.primary.ask("SELECT count(*) FROM pg_stat_replication") == 0)

    def fail_over(self) -> None:
        """Kill the primary and promote the replica."""
        self.primary.kill()
        assert self.replica.ask("SELECT pg_promote()") is True


def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_S_MAX
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def replicated(folder: Path) -> Iterator[Pair]:
    """Start both. Replication is asynchronous."""
    account = account_for(folder, namespaces=True)
    programs = binaries.find(Machine(), account)
    with ExitStack() as stack:
        made: list[PostgresServer] = []
        for name in ("primary", "replica"):
            (folder / name).mkdir()
            if name == "primary":
                words = ["--username=sluice", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
                done = account.run(
                    programs.initdb, "-D", folder / name / "data", *words, within_s=START_S_MAX
                )
            else:
                copy = programs.initdb.with_name("pg_basebackup")
                words = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
                words += [f"--dbname={made[0].address}", f"--pgdata={folder / name / 'data'}"]
                done = account.run(copy, *words, within_s=START_S_MAX)
            assert done.returncode == 0, done.stdout
            server = PostgresServer(folder / name, account, programs)
            stack.callback(server.kill)
            server.start()
            made.append(server)
        yield Pair(*made)
