"""A Postgres of our own, for whoever has configured none.

`start(home)` returns a running server and its url: data under `home/postgres`, a socket in a private folder,
no TCP, and a password that only the owner of home can read. It is a whole Postgres, the ledger of production.

What holds:

- One home has at most one server, shared by all processes that started it; the last one to close stops it.
- Nothing survives in a pid file: who is alive is asked of locks that the kernel frees with their holders.
- Nobody else's folder, account or mode is changed, for root neither.
- Importing does nothing, and nothing is registered to run at the end of the process. Callers close.

Read in this order: handle (sharing), server (being there), launch, then place, sockets, account, binaries.
It must not know what the ledger keeps in the database: it knows no table.
"""

from pathlib import Path

from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.handle import EmbeddedPostgres, open_postgres
from sluice.ledger.embedded.machine import Machine

__all__ = ["EmbeddedPostgres", "EmbeddedUnavailable", "has_postgres", "start"]


def has_postgres(home: Path) -> bool:
    """Whether ``start`` would find data there, or say that they have gone. Nothing is touched."""
    return (home / "postgres").is_symlink()


def start(home: Path, *, durable: bool = True) -> EmbeddedPostgres:
    """Use the Postgres of `home`, starting it, and making it, if need be.

    `durable=False` is for tests: faster, and at a crash of the machine the data may be lost. The user that
    starts the server decides for those who join it.
    """
    return open_postgres(home, Machine(), durable=durable)
