"""Thread that takes messages off a broker, and the order of the queues that share slots.

``Intake`` is the part of the thread that all brokers have in common. ``Rota`` is the order of the queues, and pure.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

from sluice.broker.consumer.fair_share import NO_TENANTS, FairShare
from sluice.broker.consumer.inbox import Reception
from sluice.broker.consumer.slots import SlotPool
from sluice.broker.delivery import Delivery, Settlement
from sluice.broker.log import LOG, one_line
from sluice.jobs.errors import SluiceError
from sluice.jobs.observe.outages import OutageLog

#: Maximum number of quiet queues that are asked first, if asking an empty queue costs a round trip while a slot is
#: free.
QUIET_FIRST = 8


class Rota:
    """Order in which no queue waits indefinitely.

    First come a few quiet queues, beginning with the queue that was asked longest ago. Then come the queues that had
    messages, beginning with the queue that was served longest ago. Between tenants, ``shares`` decides first.
    """

    def __init__(self, queues: Iterable[str], shares: FairShare = NO_TENANTS) -> None:
        self.shares = shares
        self._quiet = dict.fromkeys(queues)
        self._busy: dict[str, None] = {}

    def add(self, queue: str) -> None:
        """Add a queue, which has not been asked yet."""
        self._quiet[queue] = None

    def order(self, *, asking_is_free: bool = False) -> list[str]:
        """Return every queue once, in the order in which to ask."""
        quiet = list(self._quiet)
        first = len(quiet) if asking_is_free else QUIET_FIRST
        return self.shares.ordered(quiet[:first] + list(self._busy) + quiet[first:])

    def served(self, queue: str) -> None:
        """Note that a queue had a message, so that other queues come first."""
        self._quiet.pop(queue, None)
        self._busy.pop(queue, None)
        self._busy[queue] = None

    def was_empty(self, queue: str) -> None:
        self._busy.pop(queue, None)
        self._quiet.pop(queue, None)
        self._quiet[queue] = None


#: Bounds in seconds of the pause before the next connection. It is short after the first loss and grows with each
#: failed attempt.
RETRY_S_MAX = 1.0
RETRY_S_MIN = 0.05
#: Seconds after which an idle thread checks its work. Any event wakes it earlier.
IDLE_S = 1.0
#: Name of the intake among the parts of a process that an outage of the broker affects.
_PART = "intake"


class SharedSlots(NamedTuple):
    """A pool of slots, and the order of the queues that share it."""

    pool: SlotPool
    rota: Rota


class Intake(ABC):
    """Thread that takes messages while slots are free, and sends the settlements of handled messages.

    One thread does both, so there is no race between taking a slot and taking a message, nor between queues. Any thread
    may call ``settle``, ``also_take`` and ``wake``; they leave a note and return.
    """

    #: Exceptions by which a lost connection or a refusing server appears. Any other exception is a defect of Sluice.
    losses: tuple[type[Exception], ...] = ()

    def __init__(self, name: str, reception: Reception) -> None:
        self._name = name
        self._reception = reception
        self._parking = reception.parking
        slots = reception.slots
        self._desks = [SharedSlots(pool, Rota((), reception.shares)) for pool in slots.pools if pool.size]
        self._joining: deque[str] = deque(reception.queues)
        self._outbox: deque[tuple[Delivery, Settlement]] = deque()
        self._taking = True
        self._leaving = Event()
        #: Outages of the broker, for all components of the process that use it.
        self.outages = OutageLog(f"the broker {name}", monotonic)
        self._thread = Thread(target=self._run, name="sluice-intake", daemon=True)
        for pool in slots.pools:
            pool.on_free = self.wake
        reception.parking.on_space = self.wake

    def start(self) -> None:
        self._thread.start()

    def also_take(self, queue: str) -> None:
        """Take messages of this queue too, from now on. The reception has a mailbox for it."""
        self._joining.append(queue)
        self.wake()

    def stop_taking(self) -> None:
        """Take nothing from now on. Messages that are held and have not started go back."""
        self._taking = False
        self.wake()

    def close(self, *, timeout_s: float = 5.0) -> None:
        """Send the remaining settlements and disconnect. Messages that still run are given back."""
        self._taking = False
        self._leaving.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def settle(self, delivery: Delivery, verdict: Settlement) -> None:
        self._outbox.append((delivery, verdict))
        self.wake()

    def explain(self, error: Exception) -> str:
        """Return the text of an exception that is in ``losses``."""
        return one_line(error)

    @abstractmethod
    def wake(self) -> None:
        """End the wait of the intake thread: a slot is free, a settlement waits, or the thread has to stop."""

    @abstractmethod
    def _work(self) -> None:
        """Connect, and work until the thread has to end. Raises an exception of ``losses`` when the broker is lost."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Disconnect in order. Afterwards, unsettled messages belong to the broker again."""

    def _admit(self) -> list[str]:
        """Add the queues that have joined since the last call to their ``SharedSlots``, and return them. Only for the
        intake thread."""
        joined = [self._joining.popleft() for _ in range(len(self._joining))]
        for queue in joined:
            pool = self._reception.slots.of(queue)
            next(desk for desk in self._desks if desk.pool is pool).rota.add(queue)
        return joined

    def _run(self) -> None:
        retry_s = RETRY_S_MIN
        while not self._leaving.is_set():
            began = monotonic()
            try:
                self._work()
            except self.losses as error:
                self.outages.failed(
                    error if isinstance(error, SluiceError) else self.explain(error), part=_PART
                )
            except Exception:
                # The thread must survive a defect of Sluice: otherwise the process would look alive and do nothing.
                LOG.exception("The intake from %s failed and starts again.", self._name)
            lasted = monotonic() - began > RETRY_S_MAX
            retry_s = RETRY_S_MIN if lasted else min(retry_s * 2, RETRY_S_MAX)
            self._leaving.wait(retry_s)
        try:
            self._disconnect()
        except self.losses as error:
            LOG.info("%s was lost while disconnecting: %s", self._name, one_line(error))

    def _is_back(self) -> None:
        """Report that the broker answers, also to the parts of the process that make requests only at times."""
        self.outages.answered(part=_PART)
        self.outages.answered()
