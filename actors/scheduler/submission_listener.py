"""Listener of the leader for submissions that programs make by the function ``submit`` of the ledger, in SQL.

The function notifies in the caller's transaction (``ledger.database.notify.SUBMISSIONS``). So a notification arrives
when the submission is committed, and never if it is rolled back. The leader then sends the message that a client sends
after its own submissions. No other way of submitting uses the function. So nothing is announced twice, and other
submissions cost nothing more.

Only the leader listens: one connection for each installation, not for each process. The notifications only make the
planning begin sooner. If one is lost, the groomer finds the submission after two to three seconds. That applies while
no process listens: until the leader's first tick, after the death of a leader until another one leads, and while its
connection is broken. A leader that dies with received notifications leaves the submissions to the groomer too.

If two processes believe that they lead, both send a message, and the planner that is second finds the submission
planned. The same happens if the groomer announces a submission while its notification is on its way. Channels belong
to the database, so a payload names the schema of its ledger, and other ledgers ignore it. Any role of the database can
send payloads: a submission that does not exist, or is planned, costs the planner a look-up.
"""

from collections.abc import Callable, Sequence

from sluice.actors.worker.notify_listener import ChannelListener
from sluice.broker.messages import Message, Plan
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Ledger

#: Maximum number of submissions of one message: 1,000, as many as the groomer names in one.
TOGETHER = 1000


class SubmissionListener:
    """Listener of one process, which listens while this process leads."""

    def __init__(self, ledger: Ledger, send: Callable[[Sequence[Message]], None]) -> None:
        self._ledger = ledger
        self._send = send
        self._listener: ChannelListener | None = None

    def begin(self) -> None:
        """Begin to listen. Repetitions change nothing."""
        if self._listener is None:
            self._listener = ChannelListener(self._ledger, notify.SUBMISSIONS, self._received)
            self._listener.start()

    def end(self, *, wait: bool = True) -> None:
        """Stop listening. If ``wait``, return when nothing is sent any more. Repetitions change nothing."""
        if self._listener is not None:
            self._listener.end(wait=wait)
            self._listener = None

    def _received(self, words: Sequence[str]) -> None:
        given = (word.partition(" ") for word in words)
        ids = [id_ for schema, _, id_ in given if schema == self._ledger.schema and id_]
        for start in range(0, len(ids), TOGETHER):
            self._send([Plan(submissions=tuple(ids[start : start + TOGETHER]))])
