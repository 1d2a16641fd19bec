"""Handlers on queues: the use of a broker by a worker process.

``serve`` binds them. ``Service`` runs them, either by itself (``start``, ``stop``) or as the broker that dramatiq's
command line finds in each process it starts (``enlist``; see ``broker.consumer.supervisor``).
"""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

import dramatiq
from dramatiq import Actor, Middleware, Worker
from dramatiq.common import iter_queue

from sluice.broker.consumer.fair_share import NO_TENANTS, FairShare
from sluice.broker.consumer.inbox import ALL_QUEUES, Reception, SharedConsumer, WorkQueue
from sluice.broker.consumer.intake import Intake
from sluice.broker.consumer.slots import SlotReservation, Slots
from sluice.broker.delivery import Delivery
from sluice.broker.interface import Broker, Carrier
from sluice.broker.log import LOG, one_line
from sluice.broker.messages import Message
from sluice.jobs.errors import BadMessage, BadSetting, Unreachable
from sluice.jobs.observe.outages import missed


class FollowUp(NamedTuple):
    """Work that follows from a handled message. It runs in the same thread, after the message's slot is freed, and in a
    slot of its own. It counts for the tenant of ``queue``."""

    queue: str
    run: Callable[[], None]
    slot: SlotReservation


#: Runs one message. If it returns, the message is acknowledged; for exceptions see ``Service.run``.
Handler = Callable[[Message, Delivery], FollowUp | None]

#: Text for messages whose handler an outage has interrupted. They are given back, or their work is in the ledger.
_REPEATED = "messages handled again later"

#: Suffixes that dramatiq adds to a queue's name: an app called x.XQ would get the dead letters of x.
_RESERVED = (".DQ", ".XQ")


class Attendant(Protocol):
    """Receiver of the beginning and the end of the service, whether they come from ``start`` and ``stop`` or from
    dramatiq's supervisor."""

    def started(self) -> None:
        """Handle the beginning: messages are taken from now on."""
        ...

    def stopping(self) -> None:
        """Handle the stop: no message is taken any more, and running handlers have the grace time left."""
        ...

    def stopped(self) -> None:
        """Handle the end: every handler has ended, or the grace time is over."""
        ...


def serve(
    broker: Broker,
    handlers: Mapping[str, Handler],
    queues: Collection[str],
    *,
    slots: Slots,
    shares: FairShare = NO_TENANTS,
    attendant: Attendant | None = None,
) -> "Service":
    """Bind handlers, by the ``actor`` of their messages, to the queues that this process consumes.

    Missing queues are created; Unreachable or BadSetting if that is not possible. A broker serves once; connect again
    for a second service.
    """
    if not isinstance(broker, Carrier):
        raise TypeError(f"{broker!r} does not come from broker.connect.connect")
    for queue in queues:
        _check(queue, slots)
    broker.ensure(queues)
    reception = Reception(tuple(dict.fromkeys(queues)), handlers, slots, broker.encoder, shares=shares)
    return Service(broker, handlers, reception, attendant)


class Service:
    """One process's share of the work. ``slots`` shows how busy it is."""

    def __init__(
        self,
        broker: Carrier,
        handlers: Mapping[str, Handler],
        reception: Reception,
        attendant: Attendant | None,
    ) -> None:
        self.slots = reception.slots
        self._broker = broker
        self._handlers = dict(handlers)
        self._reception = reception
        self._intake = broker.intake(self._reception)
        self._worker: Worker | None = None
        broker.receive_into(self._reception)
        broker.add_middleware(_Attendance(self._reception, self._intake, attendant))
        for name in self._handlers:
            # Any queue is accepted here: dramatiq's worker finds actors by name, and messages are not sent through
            # actors.
            Actor(self.run, broker=broker, actor_name=name, queue_name=ALL_QUEUES, priority=0, options={})

    def start(self) -> None:
        """Run in threads of this process, and return."""
        self._worker = Worker(self._broker)
        self._worker.start()

    def also_serve(self, queue: str) -> None:
        """Take messages from one more queue, in the existing slots. Nothing happens if the queue is already served.

        The queue is created if it is missing; Unreachable or BadSetting if that is not possible. Call this between
        ``started`` and the end. A service that is ending ignores it.
        """
        if queue in self._reception.queues:
            return
        _check(queue, self.slots)
        self._broker.ensure([queue])
        with self._reception.door:
            if not self._reception.closed.is_set():
                self._reception.open(queue)
                self._intake.also_take(queue)

    def serves(self, queue: str) -> bool:
        """Return whether messages of this queue are taken here."""
        return queue in self._reception.queues

    def stop(self, *, grace_s: float) -> None:
        """Take nothing more, give back messages that have not started, and wait for running handlers.

        A message that still runs after the grace time is given back while it runs.
        """
        if self._worker is not None:
            self._worker.stop(timeout=int(grace_s * 1000))

    def enlist(self) -> None:
        """Make this the broker that dramatiq's command line starts in this process."""
        dramatiq.set_broker(self._broker)

    def run(self, message: Message, delivery: Delivery) -> None:
        """Run one message from start to end, in a worker thread of dramatiq. Never raises."""
        follow_up = self._run(message, delivery)
        if follow_up is None:
            return
        self._reception.shares.started(follow_up.queue)
        try:
            follow_up.run()
        except Unreachable as error:
            missed(error, _REPEATED)
        except BaseException as error:
            LOG.error("What followed from %s failed: %s: %s", _of(delivery), _kind(error), one_line(error))
            LOG.debug("How it failed.", exc_info=error)
        finally:
            self._reception.shares.ended(follow_up.queue)
            follow_up.slot.release()

    def _run(self, message: Message, delivery: Delivery) -> FollowUp | None:
        try:
            if self._reception.closed.is_set():
                delivery.give_back()
                return None
            follow_up = self._handlers[message.actor](message, delivery)
            delivery.acknowledge()
            self._reception.parking.forget(delivery)
            return follow_up
        except BadMessage as error:
            LOG.error("%s goes to the dead letters: %s", delivery, one_line(error))
            delivery.reject()
        except BaseException as error:
            # Even a SystemExit, because that would end this thread for good and lose its slot.
            self._failed(message, delivery, error)
        finally:
            self._reception.shares.ended(delivery.queue_name)
            self.slots.of(delivery.queue_name).release()
        return None

    def _failed(self, message: Message, delivery: Delivery, error: BaseException) -> None:
        if delivery.verdict is not None:
            follows = f"it was {delivery.verdict.value} before"
        elif message.news:
            follows = f"it is given back in {self._reception.parking.park(delivery):g} s"
        else:
            delivery.acknowledge()
            follows = "its work is found again in the ledger"
        if isinstance(error, Unreachable):
            missed(error, _REPEATED)
            return
        LOG.error("%s failed, %s: %s: %s", _of(delivery), follows, _kind(error), one_line(error))
        LOG.debug("How %s failed.", delivery, exc_info=error)


def _of(delivery: Delivery) -> str:
    """Return the text about a message whose content is sound. Its id is of no use for an operator."""
    return f"{delivery.actor_name} from queue {delivery.queue_name}"


def _kind(error: BaseException) -> str:
    return type(error).__name__


class _Attendance(Middleware):
    """Middleware that starts and ends the intake together with the worker, in both ways to start the worker."""

    def __init__(self, reception: Reception, intake: Intake, attendant: Attendant | None) -> None:
        self._reception = reception
        self._intake = intake
        self._attendant = attendant
        self._work = WorkQueue()

    def before_worker_boot(self, _: dramatiq.Broker, worker: Worker) -> None:
        """Set one thread per slot, whatever number the command line had: no message with a slot may wait for a
        thread. All queues have one consumer thread."""
        worker.worker_threads = self._reception.slots.total
        worker.work_queue = self._work
        worker.consumers = SharedConsumer()

    def after_worker_boot(self, _: dramatiq.Broker, __: Worker) -> None:
        self._intake.start()
        if self._attendant:
            self._attendant.started()

    def before_worker_shutdown(self, _: dramatiq.Broker, worker: Worker) -> None:
        """Give back unstarted messages now, and not when the longest handler has ended."""
        self._reception.slots.close()
        with self._reception.door:
            # No queue may be added from now on.
            self._reception.close()
        self._intake.stop_taking()
        self._reception.parking.close()
        for item in iter_queue(worker.work_queue):
            item.message.give_back()
        if self._attendant:
            self._attendant.stopping()
        self._work.close()

    def after_worker_shutdown(self, _: dramatiq.Broker, __: Worker) -> None:
        self._intake.close()
        if self._attendant:
            self._attendant.stopped()


def _check(queue: str, slots: Slots) -> None:
    if queue.endswith(_RESERVED):
        raise BadSetting(
            f"A queue cannot be called {queue!r}: the ending is reserved.", advice="Rename the app."
        )
    if slots.of(queue).size < 1:
        raise BadSetting(
            f"There is no slot to run messages from queue {queue}.", advice="Give it at least one."
        )
