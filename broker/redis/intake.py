"""The thread that takes messages off Redis, and those that hear of new ones."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from threading import Event, Thread
from time import monotonic
from typing import Any, cast

import redis
from dramatiq.brokers.redis import RedisBroker

from sluice.broker import codec
from sluice.broker.delivery import Delivery, Verdict
from sluice.broker.intake import RETRY_S_MAX, Desk, Intake
from sluice.broker.log import LOG
from sluice.broker.messages import PLANNER
from sluice.broker.reception import Reception
from sluice.broker.redis import scripts
from sluice.broker.redis.keys import Keys
from sluice.jobs.errors import ForeignBroker

#: So often an idle process asks whether it missed the bell.
POLL_S = 0.25
#: Who works off a backlog of strangers' messages is told of it again only after this.
HEARD_S = 0.05
#: So often, in the time after which a silent worker counts as dead, we give a sign of life and look around.
LOOKS = 6


class RedisIntake(Intake):
    """A receipt is the id under which Redis keeps the message.

    What this process holds is known to its intake thread. Redis knows it too, and ``_look`` compares:
    an id that Redis has and we do not was on its way when a connection broke.
    """

    losses = (redis.RedisError, OSError, ForeignBroker)

    def __init__(
        self,
        name: str,
        broker: RedisBroker,
        keys: Keys,
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
        self._ears = [Thread(target=self._listen, name="sluice-bell", daemon=True)]
        if PLANNER in reception.queues:
            self._ears.append(Thread(target=self._watch, name="sluice-watch", daemon=True))

    def start(self) -> None:
        super().start()
        for ear in self._ears:
            ear.start()

    def wake(self) -> None:
        self._woken.set()

    def _work(self) -> None:
        woken = True
        self._compare()
        while not self._leaving.is_set():
            self._woken.clear()
            self._rung_for.update(queue.encode() for queue in self._admit())
            self._settle_all()
            if self._taking and (woken or self._is_somebody_waiting()):
                for desk in self._desks:
                    self._fill(desk)
            if monotonic() >= self._look_at:
                self._look()
            self._is_back()
            woken = self._woken.wait(self._patience_s())

    def _patience_s(self) -> float:
        """With a free slot somebody may want it at any time; without one we are woken when there is one."""
        can_take = self._taking and any(desk.pool.free for desk in self._desks)
        return POLL_S if can_take else self._look_s

    def _is_somebody_waiting(self) -> bool:
        """The cheapest question there is; asked when nothing woke us."""
        return bool(self._client.exists(*map(self._keys.waiting, self._reception.queues)))

    def _fill(self, desk: Desk) -> None:
        """Takes for all free slots at once; a slot for which there was nothing goes back."""
        queues = [queue for queue in desk.rota.order(asking_is_free=True) if not self._parking.is_full(queue)]
        slots = desk.pool.take(desk.pool.size) if queues else 0
        if not slots:
            return
        started = 0
        try:
            for number, redis_id, size, body in self._take_off(queues, slots):
                started += self._start(queues[number], redis_id, size, body)
                desk.rota.served(queues[number])
        finally:
            desk.pool.put_back(slots - started)

    def _take_off(self, queues: list[str], most: int) -> list[tuple[int, bytes, int, bytes]]:
        args: list[int | str] = [most, codec.MESSAGE_BYTES_MAX, self._keys.worker]
        return cast("list[tuple[int, bytes, int, bytes]]", self._take(keys=self._places(queues), args=args))

    def _places(self, queues: Iterable[str]) -> list[str]:
        """The heartbeats; then of each queue where messages wait, where they lie, and where it says what we hold."""
        keys, names = self._keys, [self._keys.heartbeats]
        for queue in queues:
            names += [keys.waiting(queue), keys.bodies(queue), keys.held(queue)]
        return names

    def _start(self, queue: str, redis_id: bytes, size: int, body: bytes) -> bool:
        """Whether a slot is needed: what cannot be read goes to the dead letters and needs none."""
        self._held[queue].add(redis_id)
        read = self._reception.read(queue, body, size)
        if read is None:
            self._put_aside(queue, [redis_id])
            self._held[queue].discard(redis_id)
            return False
        self._reception.hand_over(Delivery(*read, self, redis_id, redelivered=False))
        return True

    def _settle_all(self) -> None:
        """Everything in the outbox, in one go a queue. While Redis is away it stays there."""
        notes = [self._outbox.popleft() for _ in range(len(self._outbox))]
        try:
            self._tell(notes)
        except self.losses:
            self._outbox.extendleft(reversed(notes))
            raise
        for delivery, _ in notes:
            self._held[delivery.queue_name].discard(_id(delivery))

    def _tell(self, notes: list[tuple[Delivery, Verdict]]) -> None:
        """Each of these commands may be repeated: an id that is not held any more is passed over."""
        grouped: defaultdict[tuple[Verdict, str], list[bytes]] = defaultdict(list)
        for delivery, verdict in notes:
            grouped[verdict, delivery.queue_name].append(_id(delivery))
        for (verdict, queue), ids in grouped.items():
            if verdict is Verdict.ACKNOWLEDGED:
                self._acknowledge(keys=[self._keys.held(queue), self._keys.bodies(queue)], args=ids)
            elif verdict is Verdict.REJECTED:
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
        """Shows that we live, mends what dead workers left, and what we lost ourselves.

        An id that we do not hold is given back when it is seen for the second time: the script that
        took it may have been running still when its connection broke.
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
                LOG.warning("Queue %s: %d messages were lost on the way here; given back.", queue, len(lost))
                self._give_back(queue, lost)
        self._look_at = monotonic() + self._look_s

    def _listen(self) -> None:
        """Wakes the intake when somebody rings for one of our queues. Not hearing it costs ``POLL_S``."""
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
        """Strangers do not ring, and it is the planner's queue that they fill. So we wait at the list itself:
        to move its first id to where it stands changes nothing, and Redis holds the answer back until there is one.
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
        bells.execute()  # Our own listener looks up, too, and finds that it is to leave.
        for ear in self._ears:
            ear.join(RETRY_S_MAX)


def _id(delivery: Delivery) -> bytes:
    return cast(bytes, delivery.receipt)
