"""Thread that takes messages off Redis, and threads that listen for new messages."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import Any, cast

import redis
from dramatiq.brokers.redis import RedisBroker

from sluice.broker import codec
from sluice.broker.consumer.inbox import Reception
from sluice.broker.consumer.intake import RETRY_S_MAX, Intake, SharedSlots
from sluice.broker.consumer.slots import SlotPool
from sluice.broker.delivery import Delivery, Settlement
from sluice.broker.log import LOG
from sluice.broker.messages import PLANNER
from sluice.broker.redis import scripts
from sluice.broker.redis.keys import RedisKeys
from sluice.jobs.errors import ForeignBroker

#: Seconds between two checks of an idle process whether it missed a signal on the ``bell`` channel.
POLL_S = 0.25
#: Minimum seconds between two wake-ups for a backlog of messages from other publishers.
HEARD_S = 0.05
#: Number of heartbeats and checks in the time after which a silent worker counts as dead.
LOOKS = 6


class RedisIntake(Intake):
    """Intake for Redis. A receipt is the id under which Redis keeps the message.

    The intake thread has the ids that this process holds. Redis has them too, and ``_look`` compares: an id that only
    Redis has was on its way when a connection broke.
    """

    losses = (redis.RedisError, OSError, ForeignBroker)

    def __init__(
        self,
        name: str,
        broker: RedisBroker,
        keys: RedisKeys,
        reception: Reception,
        *,
        compare: Callable[[], None],
    ) -> None:
        super().__init__(name, reception)
        self._compare = compare
        self._client: Any = broker.client
        self._keys = keys
        self._take = self._client.register_script(scripts.TAKE)
        self._acknowledge = self._client.register_script(scripts.ACKNOWLEDGE)
        self._return = self._client.register_script(scripts.GIVE_BACK)
        self._reject = self._client.register_script(scripts.REJECT)
        self._leave = self._client.register_script(scripts.LEAVE)
        self._look_around = self._client.register_script(scripts.LOOK)
        self._patience_ms = [broker.heartbeat_timeout, broker.dead_message_ttl]
        self._held: defaultdict[str, set[bytes]] = defaultdict(set)
        self._missed: defaultdict[str, set[bytes]] = defaultdict(set)
        self._look_s = broker.heartbeat_timeout / 1000 / LOOKS
        self._look_at = 0.0
        self._rung_for: set[bytes] = set()
        self._woken = Event()
        self._is_signalled = True
        #: Pools whose queues may have more messages than were taken.
        self._unsated: set[SlotPool] = set()
        for desk in self._desks:
            desk.pool.on_free = partial(self._on_free, desk.pool)
        self._ears = [Thread(target=self._listen, name="sluice-bell", daemon=True)]
        if PLANNER in reception.queues:
            self._ears.append(Thread(target=self._watch, name="sluice-watch", daemon=True))

    def start(self) -> None:
        super().start()
        for ear in self._ears:
            ear.start()

    def wake(self) -> None:
        """End the wait of the intake thread: there may be a message that it can take."""
        self._is_signalled = True
        self._woken.set()

    def settle(self, delivery: Delivery, verdict: Settlement) -> None:
        self._outbox.append((delivery, verdict))
        self._woken.set()

    def _on_free(self, pool: SlotPool) -> None:
        """Wake the thread for a free slot, unless the last request found fewer messages than slots. Messages that came
        after that are signalled."""
        if pool in self._unsated:
            self.wake()

    def _work(self) -> None:
        self._is_signalled, ask_at = True, 0.0
        self._compare()
        while not self._leaving.is_set():
            self._woken.clear()
            is_signalled = self._is_signalled
            if is_signalled:
                self._is_signalled = False
            self._rung_for.update(queue.encode() for queue in self._admit())
            self._settle_all()
            if self._taking and (is_signalled or (monotonic() >= ask_at and self._is_somebody_waiting())):
                for desk in self._desks:
                    self._fill(desk)
            if is_signalled or monotonic() >= ask_at:
                ask_at = monotonic() + POLL_S
            if monotonic() >= self._look_at:
                self._look()
            self._is_back()
            self._woken.wait(self._patience_s())

    def _patience_s(self) -> float:
        """Return how long to wait. With a free slot a message may come at any time; without one, a freed slot wakes the
        thread."""
        can_take = self._taking and any(desk.pool.free for desk in self._desks)
        return POLL_S if can_take else self._look_s

    def _is_somebody_waiting(self) -> bool:
        """Return whether any queue has a message. This is the cheapest request, made if no signal came for long."""
        return bool(self._client.exists(*map(self._keys.waiting, self._reception.queues)))

    def _fill(self, desk: SharedSlots) -> None:
        """Take messages for all free slots in one request. A slot without a message is put back."""
        # Before slots are taken: a handler that frees one from now on wakes this thread.
        self._unsated.add(desk.pool)
        slots = desk.pool.take(desk.pool.size)
        started, may_have_more = 0, slots > 0
        try:
            while may_have_more and started < slots:
                most = 1 if desk.rota.shares.has_tenants else slots - started
                number, taken = self._start_next(desk, most)
                started += number
                may_have_more = taken == most
            if slots and not may_have_more:
                self._unsated.discard(desk.pool)
        finally:
            desk.pool.put_back(slots - started)

    def _start_next(self, desk: SharedSlots, most: int) -> tuple[int, int]:
        """Take up to ``most`` messages in the order of the queues. Return how many need a slot, and how many were
        taken.

        Between tenants each message changes the order, so it is requested alone.
        """
        queues = [queue for queue in desk.rota.order(asking_is_free=True) if not self._parking.is_full(queue)]
        taken = self._take_off(queues, most) if queues else []
        started = 0
        for number, redis_id, size, body in taken:
            started += self._start(queues[number], redis_id, size, body)
            desk.rota.served(queues[number])
        return started, len(taken)

    def _take_off(self, queues: list[str], most: int) -> list[tuple[int, bytes, int, bytes]]:
        args: list[int | str] = [most, codec.MESSAGE_BYTES_MAX, self._keys.worker]
        return cast("list[tuple[int, bytes, int, bytes]]", self._take(keys=self._places(queues), args=args))

    def _places(self, queues: Iterable[str]) -> list[str]:
        """Return the key of the heartbeats. Then, for each queue, the keys of its list, its bodies, and the ids that
        this worker holds."""
        keys, names = self._keys, [self._keys.heartbeats]
        for queue in queues:
            names += [keys.waiting(queue), keys.bodies(queue), keys.held(queue)]
        return names

    def _start(self, queue: str, redis_id: bytes, size: int, body: bytes) -> bool:
        """Return whether a slot is needed. An unreadable message goes to the dead letters and needs none."""
        self._held[queue].add(redis_id)
        read = self._reception.read(queue, body, size)
        if read is None:
            self._put_aside(queue, [redis_id])
            self._held[queue].discard(redis_id)
            return False
        self._reception.hand_over(Delivery(*read, self, redis_id, redelivered=False))
        return True

    def _settle_all(self) -> None:
        """Send everything in the outbox, grouped by queue. While Redis is unreachable it stays there."""
        notes = [self._outbox.popleft() for _ in range(len(self._outbox))]
        try:
            self._tell(notes)
        except self.losses:
            self._outbox.extendleft(reversed(notes))
            raise
        for delivery, _ in notes:
            self._held[delivery.queue_name].discard(_id(delivery))

    def _tell(self, notes: list[tuple[Delivery, Settlement]]) -> None:
        """Send settlements. Each of these commands may be repeated: an id that is not held any more is ignored."""
        grouped: defaultdict[tuple[Settlement, str], list[bytes]] = defaultdict(list)
        for delivery, verdict in notes:
            grouped[verdict, delivery.queue_name].append(_id(delivery))
        for (verdict, queue), ids in grouped.items():
            if verdict is Settlement.ACKNOWLEDGED:
                self._acknowledge(keys=[self._keys.held(queue), self._keys.bodies(queue)], args=ids)
            elif verdict is Settlement.REJECTED:
                self._put_aside(queue, ids)
            else:
                self._give_back(queue, ids)

    def _put_aside(self, queue: str, ids: list[bytes]) -> None:
        keys = self._keys
        dead = [keys.dead(queue), keys.dead_bodies(queue)]
        self._reject(keys=[keys.held(queue), keys.bodies(queue), *dead], args=ids)

    def _give_back(self, queue: str, ids: Iterable[bytes]) -> None:
        keys = self._keys
        self._return(keys=[keys.held(queue), keys.bodies(queue), keys.waiting(queue)], args=[*ids])
        self._client.publish(keys.bell, queue)

    def _look(self) -> None:
        """Send a heartbeat, give back messages of dead workers, and find messages that this process lost.

        An id that this process does not hold is given back when it is seen for the second time. The script that took it
        may still have been running when its connection broke.
        """
        keys, queues = self._keys, self._reception.queues
        names = [keys.heartbeats]
        for queue in queues:
            names += [keys.waiting(queue), keys.bodies(queue), keys.dead(queue), keys.dead_bodies(queue)]
        self._look_around(keys=names, args=[keys.worker, *self._patience_ms, keys.holding, *queues])
        pipeline = self._client.pipeline(transaction=False)
        for queue in queues:
            pipeline.smembers(keys.held(queue))
        for queue, ids in zip(queues, pipeline.execute(), strict=True):
            strange = ids - self._held[queue]
            lost = strange & self._missed[queue]
            self._missed[queue] = strange - lost
            if lost:
                LOG.warning(
                    "Queue %s: %d messages were lost on the way to this worker; given back.", queue, len(lost)
                )
                self._give_back(queue, lost)
        self._look_at = monotonic() + self._look_s

    def _listen(self) -> None:
        """Wake the intake when a publisher names a served queue on the ``bell`` channel. A missed signal costs
        ``POLL_S``."""
        while not self._leaving.is_set():
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as ear:
                    ear.subscribe(self._keys.bell)
                    while not self._leaving.is_set():
                        ring = ear.get_message(timeout=RETRY_S_MAX)
                        if ring and ring["data"] in self._rung_for:
                            self.wake()
            except self.losses:
                self._leaving.wait(RETRY_S_MAX)

    def _watch(self) -> None:
        """Wake the intake for messages of other publishers. They send no signal, and only fill the planner's queue.

        So this waits at the list itself. Moving its first id to where it already is changes nothing, and Redis delays
        the answer until there is an id.
        """
        waiting = self._keys.waiting(PLANNER)
        while not self._leaving.is_set():
            try:
                if self._client.blmove(waiting, waiting, POLL_S, "LEFT", "LEFT"):
                    self.wake()
                    self._leaving.wait(HEARD_S)
            except self.losses:
                self._leaving.wait(RETRY_S_MAX)

    def _disconnect(self) -> None:
        self._settle_all()
        queues = self._reception.queues
        self._leave(keys=self._places(queues), args=[self._keys.worker])
        bells = self._client.pipeline(transaction=False)
        for queue in queues:
            bells.publish(self._keys.bell, queue)
        bells.execute()  # This also wakes this process's own listener, which then ends.
        for ear in self._ears:
            ear.join(RETRY_S_MAX)


def _id(delivery: Delivery) -> bytes:
    return cast(bytes, delivery.receipt)
