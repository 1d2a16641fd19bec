"""The thread that takes messages off a broker. What all brokers have in common."""

from abc import ABC, abstractmethod
from collections import deque
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

from sluice.broker.delivery import Delivery, Verdict
from sluice.broker.log import LOG, one_line
from sluice.broker.reception import Reception
from sluice.broker.rota import Rota
from sluice.broker.slots import Pool

#: After a lost connection the next attempt comes soon, and in growing steps up to this.
RETRY_S_MAX = 1.0
RETRY_S_MIN = 0.05
#: With nothing to do the thread looks up this often; whatever happens wakes it before.
IDLE_S = 1.0


class Desk(NamedTuple):
    """A pool of slots, and whose turn it is among the queues that share it."""

    pool: Pool
    rota: Rota


class Intake(ABC):
    """Takes messages while slots are free and settles what handlers have done with them.

    One thread does both, so there is no race between taking a slot and taking a message, nor between
    queues. ``settle``, ``also_take`` and ``wake`` may be called by any thread; they leave a note and return.
    """

    #: What a lost connection or a refusing server looks like; anything else is a fault of ours.
    losses: tuple[type[Exception], ...] = ()

    def __init__(self, name: str, reception: Reception) -> None:
        self._name = name
        self._reception = reception
        self._parking = reception.parking
        slots = reception.slots
        self._desks = [Desk(pool, Rota(())) for pool in (slots.control, slots.apps) if pool.size]
        self._joining: deque[str] = deque(reception.queues)
        self._outbox: deque[tuple[Delivery, Verdict]] = deque()
        self._taking = True
        self._leaving = Event()
        self._complaint = ""
        self._thread = Thread(target=self._run, name="sluice-intake", daemon=True)
        slots.control.on_free = slots.apps.on_free = self.wake
        reception.parking.on_space = self.wake

    def start(self) -> None:
        self._thread.start()

    def also_take(self, queue: str) -> None:
        """From now on messages of this queue are taken too. The reception has a mailbox for it."""
        self._joining.append(queue)
        self.wake()

    def stop_taking(self) -> None:
        """From now on nothing is taken; what is held and has not started goes back."""
        self._taking = False
        self.wake()

    def close(self, *, timeout_s: float = 5.0) -> None:
        """Sends the settlements that are left and disconnects; what is still running is given back."""
        self._taking = False
        self._leaving.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def settle(self, delivery: Delivery, verdict: Verdict) -> None:
        self._outbox.append((delivery, verdict))
        self.wake()

    def explain(self, error: Exception) -> str:
        """One of ``losses`` in words."""
        return one_line(error)

    @abstractmethod
    def wake(self) -> None:
        """Ends the wait of the intake thread: a slot is free, a settlement waits, or it is to stop."""

    @abstractmethod
    def _work(self) -> None:
        """Connects and works until it is to leave; raises one of ``losses`` when the broker is lost."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Ends an orderly life: after this, whatever was not settled belongs to the broker again."""

    def _admit(self) -> list[str]:
        """Puts the queues that have joined since the last time to their desks; says which. For the intake thread."""
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
                self._complain(error)
            except Exception:
                # The thread must not die of a fault of ours: the process would look alive and do nothing.
                LOG.exception("The intake from %s failed and starts again.", self._name)
            lasted = monotonic() - began > RETRY_S_MAX
            retry_s = RETRY_S_MIN if lasted else min(retry_s * 2, RETRY_S_MAX)
            self._leaving.wait(retry_s)
        try:
            self._disconnect()
        except self.losses as error:
            LOG.info("%s was lost while disconnecting: %s", self._name, one_line(error))

    def _complain(self, error: Exception) -> None:
        """Says once that the broker is lost and why, however often the attempts fail in the same way."""
        what = self.explain(error)
        if what != self._complaint:
            LOG.warning("No connection to %s, trying again at least every second: %s", self._name, what)
            self._complaint = what

    def _is_back(self) -> None:
        if self._complaint:
            LOG.warning("Connected to %s again.", self._name)
            self._complaint = ""
