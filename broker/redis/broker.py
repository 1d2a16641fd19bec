"""dramatiq's Redis broker, with batches that are safe to repeat, and with Sluice's intake."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from time import monotonic, sleep
from typing import Any, TypeVar
from uuid import uuid4

import redis
from dramatiq.brokers.redis import RedisBroker as DramatiqRedisBroker
from redis.backoff import NoBackoff
from redis.retry import Retry

from sluice.broker import codec
from sluice.broker.address import Address
from sluice.broker.consumer.inbox import Reception
from sluice.broker.interface import Carrier
from sluice.broker.log import one_line
from sluice.broker.messages import Message
from sluice.broker.owner import InstallationOwner
from sluice.broker.redis import scripts
from sluice.broker.redis.consumer import RedisIntake
from sluice.broker.redis.keys import RedisKeys
from sluice.jobs.errors import BadSetting, Unreachable
from sluice.jobs.observe.outages import OutageLog

#: Maximum number of messages that one call of a script publishes. Redis does nothing else during that call.
BATCH_MAX = 500
ATTEMPTS = 3
ATTEMPT_PAUSE_S = 0.1
ANSWER_S_MAX = 10.0
CONNECT_S_MAX = 3.0
#: Name of refused requests, for example for lack of memory, among the parts of an outage: others are answered.
_REFUSED = "refused requests"

T = TypeVar("T")


class RedisBroker(Carrier, DramatiqRedisBroker):
    """Broker for Redis. Its client repeats no request by itself, because dramatiq's own publish would then double a
    message."""

    def __init__(
        self,
        address: Address,
        *,
        namespace: str,
        heartbeat_timeout_s: float,
        encoder: codec.JsonEncoder = codec.PLAIN,
        owner: InstallationOwner | None = None,
    ) -> None:
        self.encoder = encoder
        try:
            client = redis.Redis.from_url(
                address.url,
                retry=Retry(NoBackoff(), 0),
                socket_timeout=ANSWER_S_MAX,
                socket_connect_timeout=CONNECT_S_MAX,
            )
        except ValueError as error:
            raise BadSetting(f"The address {address} cannot be used: {one_line(error)}.") from None
        DramatiqRedisBroker.__init__(
            self,
            client=client,
            middleware=[],
            namespace=namespace,
            heartbeat_timeout=int(heartbeat_timeout_s * 1000),
        )
        self._address = address
        self._owner = owner
        self._is_own = owner is None
        self.outages = OutageLog(f"the broker {address}", monotonic)
        self._keys = RedisKeys(namespace, self.broker_id)
        self._publish = client.register_script(scripts.PUBLISH)
        self._purge = client.register_script(scripts.PURGE)

    def publish(self, messages: Sequence[Message]) -> None:
        if not self._is_own:
            self.require_own()
        by_queue: defaultdict[str, list[str | bytes]] = defaultdict(list)
        for message in messages:
            # A new id, because the same submission may be sent again while the first message still waits.
            redis_id = str(uuid4())
            letter = codec.seal(message, self.encoder, options={"redis_message_id": redis_id})
            by_queue[letter.queue] += [redis_id, letter.body]
        for queue, pairs in by_queue.items():
            for start in range(0, len(pairs), 2 * BATCH_MAX):
                self._send(queue, pairs[start : start + 2 * BATCH_MAX])

    def depth(self, queue: str) -> int:
        return int(self._ask(lambda: self.client.llen(self._keys.waiting(queue))))

    def dead_letters(self, queue: str) -> int:
        return int(self._ask(lambda: self.client.zcard(self._keys.dead(queue))))

    def purge(self, queue: str) -> None:
        self._ask(lambda: self._purge(keys=[self._keys.waiting(queue), self._keys.bodies(queue)]))

    def require_own(self) -> None:
        self._ask(self.compare)
        self._is_own = True

    def take(self) -> str | None:
        if self._owner is None:
            return None
        text = self._owner.text
        found: Any = self._ask(lambda: self.client.set(self._keys.owner, text, get=True))
        return found.decode() if found else None

    def compare(self) -> None:
        """Mark the namespace if it has no owner, and compare its mark with ours. It may raise any error of Redis."""
        if self._owner is None:
            return
        self.client.set(self._keys.owner, self._owner.text, nx=True)
        found: Any = self.client.get(self._keys.owner)
        if found:
            self._owner.require(found.decode(), where=str(self._address))

    def ensure(self, queues: Collection[str]) -> None:  # noqa: ARG002 - every broker has it
        """Check that Redis answers. Queues are created when they are used."""
        self._ask(self.client.ping)

    def intake(self, reception: Reception) -> RedisIntake:
        intake = RedisIntake(str(self._address), self, self._keys, reception, compare=self.compare)
        intake.outages = self.outages
        return intake

    def close(self) -> None:
        self.client.close()

    def _send(self, queue: str, pairs: list[str | bytes]) -> None:
        keys = [self._keys.waiting(queue), self._keys.bodies(queue)]
        self._ask(lambda: self._publish(keys=keys, args=[self._keys.bell, queue, *pairs]))

    def _ask(self, run: Callable[[], T]) -> T:
        """Make a request in a few attempts. Every request that is made here may be repeated after a lost answer."""
        why, part = "", ""
        for attempt in range(ATTEMPTS):
            try:
                found = run()
                self.outages.answered()
                self.outages.answered(part=_REFUSED)
                return found
            except redis.RedisError as error:
                why = one_line(error).rstrip(".")
                part = _REFUSED if isinstance(error, redis.ResponseError) else ""
            sleep((attempt + 1) * ATTEMPT_PAUSE_S)
        lost = Unreachable(
            f"Redis cannot be used: {why}.",
            where=str(self._address),
            advice="Start it, check its memory, or correct the address.",
        )
        lost.outages = self.outages
        self.outages.failed(lost, part=part)
        raise lost
