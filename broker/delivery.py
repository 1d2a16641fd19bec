"""A message in this process's hands, and the one answer its broker gets about it."""

from enum import Enum
from threading import Lock
from typing import Any, Protocol

from dramatiq import Message as Envelope
from dramatiq import MessageProxy

from sluice.broker.messages import Message


class Verdict(Enum):
    """What becomes of a message."""

    ACKNOWLEDGED = "acknowledged"
    REJECTED = "rejected"
    GIVEN_BACK = "given back"


class Origin(Protocol):
    """Where a delivery came from. Any thread may call ``settle``; it does not wait for the network."""

    def settle(self, delivery: "Delivery", verdict: Verdict) -> None: ...


class Delivery(MessageProxy):
    """Settled once: the first verdict counts and later ones do nothing.

    So a handler may acknowledge its message as soon as the ledger has what it says, and whoever
    comes after it (the service, dramatiq's worker) may settle again without harm. ``redelivered`` is what
    RabbitMQ says; the other brokers do not tell.
    """

    def __init__(
        self, envelope: Envelope[Any], content: Message, origin: Origin, receipt: object, *, redelivered: bool
    ) -> None:
        super().__init__(envelope)
        self.content = content
        self.receipt = receipt
        self.redelivered = redelivered
        self._origin = origin
        self._verdict: Verdict | None = None
        self._lock = Lock()

    def acknowledge(self) -> None:
        """The message has done its work and is never delivered again."""
        self._settle(Verdict.ACKNOWLEDGED)

    def reject(self) -> None:
        """No retry would help: to the dead letters, for a person to look at."""
        self._settle(Verdict.REJECTED)

    def give_back(self) -> None:
        """Somebody else, or this process later, is to have it."""
        self._settle(Verdict.GIVEN_BACK)

    @property
    def verdict(self) -> Verdict | None:
        return self._verdict

    @property
    def args(self) -> tuple[Any, ...]:  # type: ignore[override]  # dramatiq declares it for typing only
        """What dramatiq's worker calls the actor with."""
        return (self.content, self)

    @property
    def kwargs(self) -> dict[str, Any]:  # type: ignore[override]  # dramatiq declares it for typing only
        return {}

    def __str__(self) -> str:
        """dramatiq logs this; a message's content stays out of logs."""
        return f"{self.actor_name} {self.message_id} from queue {self.queue_name}"

    def _settle(self, verdict: Verdict) -> None:
        with self._lock:
            if self._verdict is not None:
                return
            self._verdict = verdict
        self._origin.settle(self, verdict)
