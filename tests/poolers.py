"""PgBouncer in transaction mode before the database of a test.

It is the program of this machine, on a free loopback port, with few connections to the server. Its clients outnumber
them, so transactions of one client run on different connections of the server. A missing program is reported as for the
other servers.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from psycopg.conninfo import conninfo_to_dict

from sluice.ledger.embedded.os_user import account_for
from tests.leashed import Program
from tests.private_servers import PATH, Greeting, Kind, PrivateServer, free_port

#: Connections to the server: fewer than a worker has threads.
SERVER_CONNECTIONS = 3
#: Prepared statements that it tracks on a connection of the server: as many as a client keeps.
STATEMENTS_MAX = 500
#: First version that tracks prepared statements.
TRACKS_FROM = (1, 21)

_KIND = Kind(
    name="PgBouncer",
    # A client asks for TLS, and is refused.
    greeting=Greeting(b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"N"),
    url="postgresql://anybody@127.0.0.1:{port}/behind",
    image="",
    image_port=0,
    image_command=None,
    package="pgbouncer",
)


class Pooler(NamedTuple):
    """A running pooler. ``tracks_statements``: it was told to, and its version can."""

    url: str
    server: PrivateServer
    tracks_statements: bool


@contextmanager
def pgbouncer(url: str, *, tracks_statements: bool = True) -> Iterator[Pooler]:
    """Start a PgBouncer before this database. An old version never tracks statements."""
    program = _program()
    tracks = tracks_statements and _version(program) >= TRACKS_FROM
    # Later versions track statements by default.
    most = None if _version(program) < TRACKS_FROM else STATEMENTS_MAX if tracks else 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-pooler-")))
        folder.chmod(0o755)
        port = free_port()
        file = folder / "pgbouncer.ini"
        file.write_text(_configuration(url, port, most))
        body = Program([*_as_user(folder, program), str(file)], folder, dict(os.environ))
        stack.callback(body.kill)
        server = PrivateServer(_KIND, port, body)
        server.restart()
        yield Pooler(server.url, server, tracks)


def _program() -> str:
    found = os.environ.get("SLUICE_TEST_PGBOUNCER") or shutil.which("pgbouncer", path=PATH)
    if found is None:
        missing = "no PgBouncer: install the package pgbouncer, or set SLUICE_TEST_PGBOUNCER to a program"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return found


def _version(program: str) -> tuple[int, ...]:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    numbers = re.search(r"PgBouncer (\d+)\.(\d+)", shown)
    assert numbers is not None, shown
    return (int(numbers[1]), int(numbers[2]))


def _as_user(folder: Path, program: str) -> list[str]:
    """Return the beginning of the command. PgBouncer refuses to work as root, as Postgres does."""
    account = account_for(folder, namespaces=True)
    return [*account.namespace, program, *(["-u", "nobody"] if account.drops else [])]


def _configuration(url: str, port: int, statements_max: int | None) -> str:
    parts = conninfo_to_dict(url)
    server = " ".join(f"{name}='{parts[name]}'" for name in _PARTS if parts.get(name))
    lines = [
        "[databases]",
        f"behind = {server}",
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        "auth_type = any",
        "pool_mode = transaction",
        f"default_pool_size = {SERVER_CONNECTIONS}",
        "max_client_conn = 500",
        *([] if statements_max is None else [f"max_prepared_statements = {statements_max}"]),
    ]
    return "\n".join([*lines, ""])


_PARTS = ("host", "port", "dbname", "user", "password")
