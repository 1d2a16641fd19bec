"""Word between processes that share a ledger and no broker, by Postgres's own NOTIFY.

Whoever listens hears what was said since it began to; what is said while nobody does is lost. So nothing may depend on
a word but how soon something is done.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from select import select
from socket import socket

import psycopg

from sluice.jobs.address import without_password
from sluice.jobs.errors import Unreachable
from sluice.ledger.connection import Tx
from sluice.ledger.dialling import dialled

#: Postgres takes words of so many bytes.
LONGEST = 7_999

_SAY = "SELECT pg_notify('sluice', %(word)s)"


def say(tx: Tx, word: str) -> None:
    """It is heard once this transaction has been committed."""
    tx.rows(_SAY, word=word)


class Listening:
    """A connection that hears what is said."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._server = connection.pgconn

    def words(self, interrupter: socket) -> list[str]:
        """What has been said since the last time, once there is anything, or once the interrupter has something to
        read."""
        select([self._server.socket, interrupter.fileno()], [], [])
        self._server.consume_input()
        return [word.extra.decode() for word in iter(self._server.notifies, None)]


@contextmanager
def listening(url: str) -> Iterator[Listening]:
    """Unreachable where the connection cannot be made, and as soon as it breaks."""
    try:
        with psycopg.connect(dialled(url), autocommit=True) as connection:
            connection.execute("LISTEN sluice")
            yield Listening(connection)
    except psycopg.OperationalError as error:
        raise Unreachable(
            "The ledger cannot be listened to: " + " ".join(str(error).split()), where=without_password(url)
        ) from error
