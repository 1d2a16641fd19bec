"""An embedded Postgres, for installations without a configured database.

`start(home)` returns a running server and its url: data under `home/postgres`, a socket in a private folder, no TCP,
and a password that only the owner of home can read. It is a complete Postgres, the same ledger as in production.

Invariants:

- One home has at most one server, shared by all processes that started it. The last one to close it stops it.
- Nothing depends on pid files: liveness is determined by locks, which the kernel releases when their holders end.
- No folder, account or mode of another user is changed, not even by root.
- Importing has no effect, and nothing is registered to run at the end of the process. Callers must close.

Read the modules in this order: server (sharing, liveness, launch), then directory, os_user, binaries. The package must
not know the content of the database: it knows no table.
"""

from pathlib import Path

from sluice.ledger.embedded.binaries import Machine
from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.server import EmbeddedPostgres, open_postgres

__all__ = ["EmbeddedPostgres", "EmbeddedUnavailable", "has_postgres", "start"]


def has_postgres(home: Path) -> bool:
    """Return whether ``start`` would find data here or report lost data. Nothing is changed."""
    return (home / "postgres").is_symlink()


def start(home: Path, *, durable: bool = True) -> EmbeddedPostgres:
    """Use the Postgres of `home`; create and start it if necessary.

    `durable=False` is for tests: it is faster, but a crash of the machine may lose the data. The process that starts
    the server decides this for the processes that join it.
    """
    return open_postgres(home, Machine(), durable=durable)
