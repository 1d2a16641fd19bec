"""Has something told behind the back of whoever asks for it, who need not wait: it is safe in the ledger by then.

The first is told at once. What comes soon after is gathered and told together: what a program submits one by one is
planned, announced and claimed several at a time. What a crash leaves untold the groomer finds.
"""

import logging
from collections.abc import Callable, Sequence
from math import inf
from threading import Event, Lock, Thread
from time import monotonic

from sluice.broker.messages import Message, Plan
from sluice.jobs.errors import Unreachable

_LOG = logging.getLogger("sluice.teller")

#: After one telling the next begins no sooner, and has in it what came meanwhile.
GATHER_S = 0.01
#: What waits behind a telling that takes longer somebody else may see to.
HELD_UP_S = 0.05
#: So many submissions go into one message, so that it is not too long for any way there is.
TOGETHER = 30


class Teller:
    """There is a thread for as long as there is something to tell. ``close`` returns when all has been told."""

    def __init__(self, publish: Callable[[Sequence[Message]], None]) -> None:
        self._publish = publish
        self._untold: list[Message] = []
        self._thread: Thread | None = None
        self._began = inf
        self._lock = Lock()
        self._leaving = Event()

    def tell(self, messages: Sequence[Message]) -> None:
        with self._lock:
            self._untold += messages
            if self._thread is None:
                self._thread = Thread(target=self._tell_all, name="sluice-teller", daemon=True)
                self._thread.start()

    def held_up(self) -> list[Message]:
        """What waits behind a telling that takes long; whoever asks has to see to it."""
        with self._lock:
            is_held_up = monotonic() - self._began > HELD_UP_S
            return self._take() if is_held_up else []

    def close(self, *, within_s: float | None = None) -> None:
        self._leaving.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(within_s)

    def _tell_all(self) -> None:
        while messages := self._next():
            try:
                self._publish(messages)
            except Unreachable as error:
                _LOG.warning("%d hints were not told, the groomer will see to it: %s", len(messages), error)
            except Exception:
                _LOG.exception("%d hints were not told, the groomer will see to it", len(messages))
            self._began = inf
            self._leaving.wait(GATHER_S)

    def _next(self) -> list[Message]:
        """What is to be told now; without anything the thread is done, and the next tale starts another."""
        with self._lock:
            messages = self._take()
            self._began = monotonic() if messages else inf
            if not messages:
                self._thread = None
            return messages

    def _take(self) -> list[Message]:
        messages, self._untold = self._untold, []
        return _gathered(messages)


def _gathered(messages: Sequence[Message]) -> list[Message]:
    """The same with a message for several submissions that are to be planned in place of one for each."""
    ids = [each.submissions[0] for each in messages if isinstance(each, Plan) and len(each.submissions) == 1]
    others = [each for each in messages if not isinstance(each, Plan) or len(each.submissions) != 1]
    together = [ids[start : start + TOGETHER] for start in range(0, len(ids), TOGETHER)]
    return [*others, *(Plan(submissions=tuple(some)) for some in together)]
