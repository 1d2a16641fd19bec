"""Broker of ``sluice up`` alone: queues in this process. It loses everything when the process ends. That costs only the
wait for the groomer's next tick, because messages are notifications."""

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Lock
from time import monotonic
from typing import cast

from sluice.broker import codec
from sluice.broker.consumer.inbox import Reception
from sluice.broker.consumer.intake import Intake, SharedSlots
from sluice.broker.delivery import Delivery, Settlement
from sluice.broker.interface import Carrier
from sluice.broker.messages import Message
from sluice.jobs.errors import Unreachable
from sluice.jobs.observe.outages import OutageLog

#: Maximum number of messages in a queue, so that a queue without a consumer does not fill the memory. Beyond it, news
#: is refused and a notification is dropped.
WAITING_MAX = 1_000_000
#: Number of dead letters that are kept for each queue. The newest are kept.
DEAD_LETTERS_MAX = 1_000


class MemoryBroker(Carrier):
    """A dramatiq broker with Python's queues. dramatiq's own stub is for tests: it starts a consumer for every queue
    that a message is published to, and takes messages before they are needed."""

    def __init__(self) -> None:
        super().__init__(middleware=[])
        self.outages = OutageLog("the broker memory://", monotonic)
        self.queues: set[str] = set()
        self._waiting: defaultdict[str, Queue[bytes]] = defaultdict(Queue)
        self._making = Lock()
        self._dead: defaultdict[str, deque[bytes]] = defaultdict(lambda: deque(maxlen=DEAD_LETTERS_MAX))
        self._intakes: list[MemoryIntake] = []

    def publish(self, messages: Sequence[Message]) -> None:
        for letter in [codec.seal(message) for message in messages]:
            queue = self.waiting(letter.queue)
            if queue.qsize() < WAITING_MAX:
                queue.put(letter.body)
            elif letter.news:
                raise Unreachable(f"Queue {letter.queue} holds {WAITING_MAX} messages and takes no more.")
        self.wake()

    def depth(self, queue: str) -> int:
        return self.waiting(queue).qsize()

    def purge(self, queue: str) -> None:
        with suppress(Empty):
            while True:
                self.waiting(queue).get_nowait()

    def dead_letters(self, queue: str) -> int:
        return len(self._dead[queue])

    def dead_letter_bodies(self, queue: str) -> list[bytes]:
        """Return the dead letters themselves, oldest first."""
        return list(self._dead[queue])

    def require_own(self) -> None:
        """Do nothing: the broker belongs to this process."""

    def take(self) -> str | None:
        return None

    def ensure(self, queues: Collection[str]) -> None:
        """Do nothing: queues are created when they are used."""

    def intake(self, reception: Reception) -> "MemoryIntake":
        intake = MemoryIntake(self, reception)
        self._intakes.append(intake)
        return intake

    def get_declared_queues(self) -> set[str]:
        return set(self.queues)

    def waiting(self, queue: str) -> Queue[bytes]:
        """Return the queue itself. It is created at the first use."""
        with self._making:
            return self._waiting[queue]

    def bury(self, queue: str, body: bytes) -> None:
        self._dead[queue].append(body)

    def wake(self) -> None:
        for intake in self._intakes:
            intake.wake()


class MemoryIntake(Intake):
    """Intake without a network: the thread that settles a message carries that out itself. A receipt is the body."""

    def __init__(self, broker: MemoryBroker, reception: Reception) -> None:
        super().__init__("memory", reception)
        self._broker = broker
        self._woken = Event()

    def wake(self) -> None:
        self._woken.set()

    def settle(self, delivery: Delivery, verdict: Settlement) -> None:
        body = cast(bytes, delivery.receipt)
        if verdict is Settlement.REJECTED:
            self._broker.bury(delivery.queue_name, body)
        elif verdict is Settlement.GIVEN_BACK:
            self._broker.waiting(delivery.queue_name).put(body)
            self._broker.wake()

    def _work(self) -> None:
        while not self._leaving.is_set():
            self._woken.clear()
            self._admit()
            for desk in self._desks if self._taking else ():
                self._fill(desk)
            self._woken.wait()

    def _disconnect(self) -> None:
        """Do nothing: running messages settle themselves when they end."""

    def _fill(self, desk: SharedSlots) -> None:
        while desk.pool.take():
            delivery = self._next(desk)
            if delivery is None:
                desk.pool.put_back(1)
                return
            self._reception.hand_over(delivery)

    def _next(self, desk: SharedSlots) -> Delivery | None:
        for queue in desk.rota.order(asking_is_free=True):
            delivery = None if self._parking.is_full(queue) else self._first(queue)
            if delivery is not None:
                desk.rota.served(queue)
                return delivery
            desk.rota.was_empty(queue)
        return None

    def _first(self, queue: str) -> Delivery | None:
        """Return the first readable message that waits in a queue. Unreadable messages before it go to the dead
        letters."""
        while True:
            try:
                body = self._broker.waiting(queue).get_nowait()
            except Empty:
                return None
            read = self._reception.read(queue, body)
            if read is not None:
                return Delivery(*read, self, body, redelivered=False)
            self._broker.bury(queue, body)
