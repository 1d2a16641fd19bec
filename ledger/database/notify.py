"""Messages between processes that share a ledger and no broker, by Postgres's NOTIFY.

A listener receives the messages that are sent after it began to listen. A message that is sent while no process listens
is lost. So a message may only make something happen sooner.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from select import select
from socket import socket

import psycopg

from sluice.jobs.errors import Unreachable
from sluice.jobs.text.server_address import without_password
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.conninfo import complete

#: Longest payload of a NOTIFY in bytes, a limit of Postgres.
LONGEST = 7_999

_SAY = "SELECT pg_notify('sluice', %(word)s)"


def notify(tx: Tx, word: str) -> None:
    """Send a message to all listeners. They receive it when this transaction commits."""
    tx.rows(_SAY, word=word)


class Listening:
    """Connection that receives messages."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._server = connection.pgconn

    def words(self, interrupter: socket) -> list[str]:
        """Wait until a message has arrived or the interrupter is readable; return the messages since the last call."""
        select([self._server.socket, interrupter.fileno()], [], [])
        self._server.consume_input()
        return [word.extra.decode() for word in iter(self._server.notifies, None)]


@contextmanager
def listening(url: str) -> Iterator[Listening]:
    """Open a connection that listens. Raise Unreachable if it cannot be made, or when it breaks."""
    try:
        with psycopg.connect(complete(url), autocommit=True) as connection:
            connection.execute("LISTEN sluice")
            yield Listening(connection)
    except psycopg.OperationalError as error:
        raise Unreachable(
            "The ledger cannot be listened to: " + " ".join(str(error).split()), where=without_password(url)
        ) from error
