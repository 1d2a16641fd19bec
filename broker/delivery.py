"""A message that this process holds, and the one settlement that its broker gets."""

from enum import Enum
from threading import Lock
from typing import Any, Protocol

from dramatiq import Message as Envelope
from dramatiq import MessageProxy

from sluice.broker.messages import Message


class Settlement(Enum):
    """Settlement of a message."""

    ACKNOWLEDGED = "acknowledged"
    REJECTED = "rejected"
    GIVEN_BACK = "given back"


class DeliverySource(Protocol):
    """Source of a delivery. Any thread may call ``settle``; it does not wait for the network."""

    def settle(self, delivery: "Delivery", verdict: Settlement) -> None: ...


class Delivery(MessageProxy):
    """A message that is settled once: the first verdict counts, and later ones do nothing.

    So a handler may acknowledge its message as soon as the ledger has the content. The service and dramatiq's worker
    may then settle it again without harm. ``redelivered`` is RabbitMQ's flag; the other brokers have none.
    """

    def __init__(
        self,
        envelope: Envelope[Any],
        content: Message,
        origin: DeliverySource,
        receipt: object,
        *,
        redelivered: bool,
    ) -> None:
        super().__init__(envelope)
        self.content = content
        self.receipt = receipt
        self.redelivered = redelivered
        self._origin = origin
        self._verdict: Settlement | None = None
        self._lock = Lock()

    def acknowledge(self) -> None:
        """Acknowledge the message: it has done its work and is never delivered again."""
        self._settle(Settlement.ACKNOWLEDGED)

    def reject(self) -> None:
        """Send the message to the dead letters, where a person can examine it, because no retry would help."""
        self._settle(Settlement.REJECTED)

    def give_back(self) -> None:
        """Return the message to its queue, so that another process, or this one later, takes it."""
        self._settle(Settlement.GIVEN_BACK)

    @property
    def verdict(self) -> Settlement | None:
        return self._verdict

    @property
    def args(self) -> tuple[Any, ...]:  # type: ignore[override]  # dramatiq declares it for typing only
        """Positional arguments with which dramatiq's worker calls the actor."""
        return (self.content, self)

    @property
    def kwargs(self) -> dict[str, Any]:  # type: ignore[override]  # dramatiq declares it for typing only
        return {}

    def __str__(self) -> str:
        """Return the text that dramatiq logs. A message's content stays out of logs."""
        return f"{self.actor_name} {self.message_id} from queue {self.queue_name}"

    def _settle(self, verdict: Settlement) -> None:
        with self._lock:
            if self._verdict is not None:
                return
            self._verdict = verdict
        self._origin.settle(self, verdict)
