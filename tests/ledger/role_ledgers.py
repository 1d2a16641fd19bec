"""Ledgers with roles, each for one test, on an embedded Postgres or on the Postgres of the machine.

Roles belong to the whole server. An embedded server is removed together with its roles. On the machine's server, roles
have unique names, and are dropped with their database at the end of the test.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import conninfo

from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.schema import migrate, roles
from tests.homes import started_ledger
from tests.ledger.generations import database

PREFIX = "tested"
_PASSWORD = "of no use elsewhere"
#: Address of a Postgres that was started for all users of this machine.
_ON_LOOPBACK = "postgresql://postgres@127.0.0.1:5432/postgres"
_IS_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"


class Roled:
    """Ledger with roles. ``url`` returns the address for a role. ``admin_url`` is the address of a superuser."""

    def __init__(self, admin_url: str, prefix: str = PREFIX) -> None:
        self.admin_url = admin_url
        self.prefix = prefix
        self.names = roles.names(prefix)
        self.grant()
        with psycopg.connect(admin_url, autocommit=True) as connection:
            for name in self.names.values():
                connection.execute(f"ALTER ROLE {name} PASSWORD '{_PASSWORD}'".encode())

    def grant(self) -> None:
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(roles.script(self.prefix).encode())

    def lose(self) -> None:
        """Drop the roles, and the ledger with its owner, as if the whole server were lost."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            for name in self.names.values():
                connection.execute(f"DROP OWNED BY {name} CASCADE".encode())
                connection.execute(f"DROP ROLE {name}".encode())

    def url(self, role: str, *, within: str | None = None) -> str:
        """Return the address for a role as a URL, which the setting requires. Default of ``within``: this database."""
        words: dict[str, Any] = conninfo.conninfo_to_dict(within or self.admin_url)
        words |= {"user": self.names[role], "password": _PASSWORD}
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in words.items())
        return f"postgresql:///?{query}"

    def connect(self, role: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url(role), autocommit=True)


@contextmanager
def roled(folder: Path) -> Iterator[Roled]:
    with started_ledger(folder) as url:
        yield Roled(url)


@contextmanager
def roled_on_the_machines_own(_: Path) -> Iterator[Roled]:
    """Use the server of SLUICE_TEST_LEDGER_URL, or the server on loopback. Skip the test if we cannot make roles."""
    url = os.environ.get("SLUICE_TEST_LEDGER_URL") or _ON_LOOPBACK
    if not _is_ours_to_use(url):
        pytest.skip(
            "no Postgres of this machine lets us make roles: set SLUICE_TEST_LEDGER_URL to a superuser's"
        )
    prefix = f"{PREFIX}_{uuid4().hex[:12]}"
    try:
        with database(in_schema(url, SCHEMA)) as made:
            migrate.upgrade(made)
            yield Roled(made, prefix)
    finally:
        with psycopg.connect(url, autocommit=True) as server:
            for name in roles.names(prefix).values():
                server.execute(f"DROP ROLE IF EXISTS {name}".encode())


#: Servers to test on. Two, because one release of Postgres may refuse a role an action that another performs.
SERVERS: Mapping[str, Callable[[Path], AbstractContextManager[Roled]]] = {
    "embedded": roled,
    "of-the-machine": roled_on_the_machines_own,
}


def _is_ours_to_use(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            return connection.execute(_IS_SUPERUSER).fetchone() == (True,)
    except psycopg.OperationalError:
        return False
