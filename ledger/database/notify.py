"""Notifications by Postgres's NOTIFY: messages between processes that share a ledger and no broker, submissions by SQL
for the leader, and ends of submissions for clients that wait for them.

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
from sluice.ledger.database.driver import Row

#: Longest payload of a NOTIFY in bytes, a limit of Postgres.
LONGEST = 7_999

#: Channel of the messages.
MESSAGES = "sluice"
#: Channel of the ends. A payload is the number of a submission. Channels belong to the database, so a listener also
#: receives the numbers of another ledger in the same database.
ENDS = "sluice_ends"
#: Channel of submissions by the function ``submit``. A payload is the schema of the ledger, a space, and the id of the
#: submission.
SUBMISSIONS = "sluice_submissions"

_SAY = f"SELECT pg_notify('{MESSAGES}', %(word)s)"


def notify(tx: Tx, word: str) -> None:
    """Send a message to all listeners. They receive it when this transaction commits."""
    tx.rows(_SAY, word=word)


class Listening:
    """Connection that receives notifications."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._server = connection.pgconn
        self._early: list[str] = []
        # psycopg itself reads a notification that comes with the answer to a statement, for example to LISTEN.
        connection.add_notify_handler(lambda notification: self._early.append(notification.payload))

    def words(self, interrupter: socket, within_s: float | None = None) -> list[str]:
        """Wait until a notification has arrived, the interrupter is readable, or the time is over. Return the payloads
        since the last call."""
        if words := self._words():
            return words
        select([self._server.socket, interrupter.fileno()], [], [], within_s)
        self._server.consume_input()
        return self._words()

    def _words(self) -> list[str]:
        early, self._early = self._early, []
        return early + [word.extra.decode() for word in iter(self._server.notifies, None)]


def listen(connection: psycopg.Connection[Row], channel: str) -> Listening:
    """Listen to a channel on a connection that commits each statement."""
    made = Listening(connection)
    connection.execute(f"LISTEN {channel}".encode())
    return made


@contextmanager
def listening(url: str, channel: str = MESSAGES) -> Iterator[Listening]:
    """Open a connection that listens to a channel. Raise Unreachable if it cannot be made, or when it breaks."""
    try:
        with psycopg.connect(complete(url), autocommit=True) as connection:
            yield listen(connection, channel)
    except psycopg.OperationalError as error:
        raise Unreachable(
            "The ledger cannot be listened to: " + " ".join(str(error).split()), where=without_password(url)
        ) from error
