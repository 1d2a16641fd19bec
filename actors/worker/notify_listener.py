"""Listeners for notifications by way of the ledger (NOTIFY).

``NotifyListener`` receives the messages of other processes, because these cannot reach a broker in memory.
``ChannelListener`` is the thread and the connection of any listener.

A notification may be lost, like any other. Then the groomer finds the work that it was about.
"""

import logging
from collections.abc import Callable, Sequence
from math import inf
from socket import socketpair
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from sluice.actors.worker.logs import ErrorThrottle
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


class ChannelListener:
    """Thread with a connection that listens to a channel from ``start`` to ``end``. It is started once.

    ``receive`` gets the payloads that have arrived together. Payloads that are sent while the connection is broken are
    lost. A connection that breaks is made again at once. If that fails, it belongs to the outages of the ledger.
    """

    def __init__(self, ledger: Ledger, channel: str, receive: Callable[[Sequence[str]], None]) -> None:
        self._url = ledger.url
        self._outages = ledger.outages
        self._channel = channel
        self._receive = receive
        self._part = f"listener of {channel}"
        self._listens_since = inf
        self._complaints = ErrorThrottle(_LOG, f"listening to {channel} failed")
        self._tried = Event()
        self._ended = Event()
        self._ending, self._interrupter = socketpair()
        self._thread = Thread(target=self._live, name=self._part, daemon=True)

    def start(self, *, wait: bool = False) -> None:
        """Start. If ``wait``, return when it listens, or when the first attempt to connect has failed."""
        self._thread.start()
        if wait:
            self._tried.wait()

    def end(self, *, wait: bool = True) -> None:
        """End. If ``wait``, return when nothing is received any more."""
        self._interrupter.send(b".")
        self._ended.set()
        self._interrupter.close()
        if wait:
            self._thread.join()

    def _live(self) -> None:
        with self._ending:
            while not self._ended.is_set():
                try:
                    self._listen()
                except Unreachable as error:
                    if self._has_listened():
                        continue
                    self._outages.failed(error, part=self._part)
                except Exception as error:
                    self._complaints.log(error)
                self._tried.set()
                self._ended.wait(RECONNECT_S)
        self._outages.answered(part=self._part)

    def _listen(self) -> None:
        with notify.listening(self._url, self._channel) as ears:
            self._listens_since = monotonic()
            self._outages.answered(part=self._part)
            self._tried.set()
            while not self._ended.is_set():
                if words := ears.words(self._ending):
                    self._receive(words)
                    self._complaints.forget()

    def _has_listened(self) -> bool:
        """Return whether the connection that broke had lasted for some time. It counts once."""
        lasted_s, self._listens_since = monotonic() - self._listens_since, inf
        return lasted_s > RECONNECT_S


class NotifyListener:
    """Listener that publishes the notifications of other processes in this process while the block lasts."""

    def __init__(self, ledger: Ledger, publish: Callable[[Sequence[Message]], None]) -> None:
        self._publish = publish
        self._listener = ChannelListener(ledger, notify.MESSAGES, self._hear)

    def __enter__(self) -> Self:
        self._listener.start(wait=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.end()

    def _hear(self, words: Sequence[str]) -> None:
        for word in words:
            queue, _, body = word.partition(" ")
            try:
                _, message = codec.unseal(queue, body.encode())
            except BadMessage as error:
                _LOG.warning("the ledger sent an invalid notification: %s", error)
            else:
                self._publish([message])
