"""Asynchronous, coalescing publisher. Its caller need not wait, because the ledger has the facts by then.

The first message is sent immediately. Messages that come soon after are collected and sent together. So submissions
made one by one are planned, announced and claimed several at a time. A caller that waits for the work publishes nothing
more, and so has the collected messages sent: otherwise each of several calls made one after another would wait for
``GATHER_S``. The groomer finds the work of messages that a crash loses.
"""

import logging
from collections.abc import Callable, Sequence
from math import inf
from threading import Event, Lock, Thread
from time import monotonic

from sluice.broker.messages import Message, Plan
from sluice.jobs.errors import Unreachable
from sluice.jobs.observe.outages import NOT_SENT, missed

_LOG = logging.getLogger("sluice.publish_buffer")

#: Seconds between the end of one publication and the next. Messages that come in this time are sent together.
GATHER_S = 0.01
#: Seconds after which a publication is slow. Another thread may then take the messages that wait behind it.
HELD_UP_S = 0.05
#: Maximum number of submissions in one message, so that it is not too long for any transport.
TOGETHER = 30


class PublishBuffer:
    """Publish buffer. Its thread exists only while there are messages to send. ``close`` returns when all have been
    sent."""

    def __init__(self, publish: Callable[[Sequence[Message]], None]) -> None:
        self._publish = publish
        self._untold: list[Message] = []
        self._thread: Thread | None = None
        self._began = inf
        self._lock = Lock()
        self._in_haste = Event()

    def publish(self, messages: Sequence[Message]) -> None:
        """Publish these messages together with others, or without messages, the collected ones now. The call does not
        wait for that."""
        if not messages:
            self._in_haste.set()
            return
        with self._lock:
            self._untold += messages
            if self._thread is None:
                self._thread = Thread(target=self._tell_all, name="sluice-publish_buffer", daemon=True)
                self._thread.start()

    def held_up(self) -> list[Message]:
        """Return the messages that wait behind a slow publication. The caller has to handle them."""
        with self._lock:
            is_held_up = monotonic() - self._began > HELD_UP_S
            return self._take() if is_held_up else []

    def close(self, *, within_s: float | None = None) -> None:
        self._in_haste.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(within_s)

    def _tell_all(self) -> None:
        while messages := self._next():
            try:
                self._publish(messages)
            except Unreachable as error:
                missed(error, NOT_SENT, len(messages))
            except Exception:
                _LOG.exception("%s: %d", NOT_SENT, len(messages))
            self._began = inf
            self._in_haste.wait(GATHER_S)

    def _next(self) -> list[Message]:
        """Return the messages to send now. If there are none, the thread ends, and the next message starts another
        one."""
        with self._lock:
            self._in_haste.clear()
            messages = self._take()
            self._began = monotonic() if messages else inf
            if not messages:
                self._thread = None
            return messages

    def _take(self) -> list[Message]:
        messages, self._untold = self._untold, []
        return _gathered(messages)


def _gathered(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with all Plan messages for one submission combined into messages for several."""
    ids = [each.submissions[0] for each in messages if isinstance(each, Plan) and len(each.submissions) == 1]
    others = [each for each in messages if not isinstance(each, Plan) or len(each.submissions) != 1]
    together = [ids[start : start + TOGETHER] for start in range(0, len(ids), TOGETHER)]
    return [*others, *(Plan(submissions=tuple(some)) for some in together)]
