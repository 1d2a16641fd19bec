"""Notifications by way of the ledger (NOTIFY), because other processes cannot reach a broker in memory.

A notification may be lost, like any other. Then the groomer finds the work that it was about.
"""

import logging
from collections.abc import Callable, Sequence
from socket import socketpair
from threading import Event, Thread
from types import TracebackType
from typing import Self

from sluice.broker import codec
from sluice.broker.messages import Message
from sluice.jobs.errors import BadMessage, Unreachable
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Ledger, Tx

_LOG = logging.getLogger("sluice.notify_listener")

#: Seconds before a broken connection is made again.
RECONNECT_S = 1.0


def notify_through(ledger: Ledger, messages: Sequence[Message]) -> None:
    """Notify the processes that work on this ledger. The groomer finds the work of messages that are too long for
    NOTIFY."""
    letters = [codec.seal(message) for message in messages]
    words = [f"{letter.queue} {letter.body.decode()}" for letter in letters]

    def work(tx: Tx) -> None:
        for word in words:
            if len(word.encode()) <= notify.LONGEST:
                notify.notify(tx, word)

    ledger.transact(work)


class NotifyListener:
    """Listener that publishes the notifications of other processes in this process while the block lasts."""

    def __init__(self, url: str, publish: Callable[[Sequence[Message]], None]) -> None:
        self._url = url
        self._publish = publish
        self._tried = Event()
        self._ended = Event()
        self._ending, self._interrupter = socketpair()
        self._thread = Thread(target=self._live, name="notify listener", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._tried.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._ending.send(b".")
        self._thread.join()
        self._ending.close()
        self._interrupter.close()

    def _live(self) -> None:
        while not self._ended.is_set():
            try:
                self._listen()
            except Unreachable as error:
                _LOG.warning(
                    "LISTEN connection lost;"
                    " submissions from other processes now wait for the next groomer tick: %s",
                    error,
                )
                self._tried.set()
                self._ended.wait(RECONNECT_S)

    def _listen(self) -> None:
        with notify.listening(self._url) as ears:
            self._tried.set()
            while not self._ended.is_set():
                for word in ears.words(self._interrupter):
                    self._hear(word)

    def _hear(self, word: str) -> None:
        queue, _, body = word.partition(" ")
        try:
            _, message = codec.unseal(queue, body.encode())
        except BadMessage as error:
            _LOG.warning("the ledger sent an invalid notification: %s", error)
        else:
            self._publish([message])
