"""What every broker of this room can do, for its users (``Broker``) and for the service (``Carrier``)."""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import dramatiq
from dramatiq import Consumer, Encoder
from dramatiq import Message as Envelope

from sluice.broker.codec import PLAIN
from sluice.broker.intake import Intake
from sluice.broker.messages import Message
from sluice.broker.reception import Reception


class Broker(Protocol):
    """A broker as the other rooms see it. Safe to use from any thread."""

    def publish(self, messages: Sequence[Message]) -> None:
        """Sends all of them and returns when the broker has confirmed each; a missing queue is made.

        Raises Unreachable when it could not be made sure within a few attempts: some may have arrived.
        """
        ...

    def depth(self, queue: str) -> int:
        """How many messages wait on a queue; those that a process holds are not counted."""
        ...

    def purge(self, queue: str) -> None:
        """Drops every message that waits on a queue. Dead letters stay."""
        ...

    def dead_letters(self, queue: str) -> int:
        """How many messages of a queue were refused and are kept aside."""
        ...

    def require_own(self) -> None:
        """Mark the broker as this installation's. ForeignBroker if it is another's, Unreachable if it is away."""
        ...

    def take(self) -> str | None:
        """Mark the broker as this installation's, even if it belongs to another one. Return the mark that it had."""
        ...

    def close(self) -> None: ...


class Carrier(dramatiq.Broker):
    """A dramatiq broker whose worker is fed by an intake, without dramatiq's delay queues and middleware."""

    #: How its messages are written, and which are read. What never leaves a process need not be signed.
    encoder: Encoder = PLAIN
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
        """Makes these queues where they are missing; Unreachable or BadSetting where that cannot be done."""

    @abstractmethod
    def intake(self, reception: Reception) -> Intake:
        """The thread that will feed ``reception``; not started yet."""

    def receive_into(self, reception: Reception) -> None:
        if self._reception is not None:
            raise RuntimeError("A broker serves once; connect again for a second service.")
        self._reception = reception

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 1000) -> Consumer:  # noqa: ARG002 - they are dramatiq's
        """dramatiq's prefetch and timeout are ignored: slots say how much is taken, and mailboxes wake."""
        if self._reception is None:
            raise RuntimeError("Start the worker through broker.service.serve; nothing feeds it otherwise.")
        return self._reception.consumer(queue_name)

    def declare_queue(self, queue_name: str, *, ensure: bool = False) -> None:  # noqa: ARG002 - it is dramatiq's
        """Makes dramatiq's worker consume it. There is no delay queue beside it: nothing is ever delayed."""
        if queue_name not in self.get_declared_queues():
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Envelope[Any], *, delay: int | None = None) -> Envelope[Any]:
        """dramatiq's own way to send is closed, so that there is one way: ``publish``."""
        raise NotImplementedError(
            f"Send {message.actor_name!r} with publish(), not with dramatiq ({delay=})."
        )
