"""Interfaces of all brokers: ``Broker`` is for their users, ``Carrier`` for the service."""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import dramatiq
from dramatiq import Consumer
from dramatiq import Message as Envelope

from sluice.broker.codec import PLAIN, JsonEncoder
from sluice.broker.consumer.inbox import Reception
from sluice.broker.consumer.intake import Intake
from sluice.broker.messages import Message
from sluice.jobs.observe.outages import OutageLog


class Broker(Protocol):
    """A broker as other packages see it. Safe to use from any thread."""

    def publish(self, messages: Sequence[Message]) -> None:
        """Send all of them, and return when the broker has confirmed each. A missing queue is created.

        Unreachable if that does not succeed within a few attempts; some messages may have arrived.
        """
        ...

    def depth(self, queue: str) -> int:
        """Return how many messages wait in a queue. Messages that a process holds are not counted."""
        ...

    def purge(self, queue: str) -> None:
        """Drop every message that waits in a queue. Dead letters stay."""
        ...

    def dead_letters(self, queue: str) -> int:
        """Return how many messages of a queue were refused and are kept aside."""
        ...

    def require_own(self) -> None:
        """Mark the broker as this installation's. ForeignBroker if it is another's, Unreachable if it is away."""
        ...

    def take(self) -> str | None:
        """Mark the broker as this installation's, even if it belongs to another one. Return the mark that it had."""
        ...

    def close(self) -> None: ...


class Carrier(dramatiq.Broker):
    """A dramatiq broker with an intake that feeds its worker, without dramatiq's delay queues and middleware."""

    #: Encoder of its messages, which also decides which ones are read. Messages that never leave a process need no
    #: signature.
    encoder: JsonEncoder = PLAIN
    #: Outages of the broker, for all components of the process that use it.
    outages: OutageLog
    _reception: Reception | None = None

    @abstractmethod
    def publish(self, messages: Sequence[Message]) -> None: ...

    @abstractmethod
    def depth(self, queue: str) -> int: ...

    @abstractmethod
    def purge(self, queue: str) -> None: ...

    @abstractmethod
    def dead_letters(self, queue: str) -> int: ...

    @abstractmethod
    def require_own(self) -> None: ...

    @abstractmethod
    def take(self) -> str | None: ...

    @abstractmethod
    def ensure(self, queues: Collection[str]) -> None:
        """Create these queues if they are missing. Unreachable or BadSetting if that is not possible."""

    @abstractmethod
    def intake(self, reception: Reception) -> Intake:
        """Return the thread that will feed ``reception``. It is not started yet."""

    def receive_into(self, reception: Reception) -> None:
        if self._reception is not None:
            raise RuntimeError("A broker serves once; connect again for a second service.")
        self._reception = reception

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 1000) -> Consumer:  # noqa: ARG002 - they are dramatiq's
        """Return a consumer of all queues. dramatiq's prefetch and timeout are ignored: slots limit the messages, and
        the mailbox wakes its consumer."""
        if self._reception is None:
            raise RuntimeError(
                "Start the worker through broker.service.serve; otherwise it receives no messages."
            )
        return self._reception.consumer()

    def declare_queue(self, queue_name: str, *, ensure: bool = False) -> None:  # noqa: ARG002 - it is dramatiq's
        """Make dramatiq's worker consume the queue. There is no delay queue beside it, because nothing is ever
        delayed."""
        if queue_name not in self.get_declared_queues():
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Envelope[Any], *, delay: int | None = None) -> Envelope[Any]:
        """Refuse to send in dramatiq's own way, so that ``publish`` is the only way."""
        raise NotImplementedError(
            f"Send {message.actor_name!r} with publish(), not with dramatiq ({delay=})."
        )
