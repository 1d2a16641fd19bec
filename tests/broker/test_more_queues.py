"""Queues that are added to a running service, because an app was defined while it runs."""

import threading

import pytest
from dramatiq.worker import ConsumerThread

from sluice.broker.consumer.service import serve
from sluice.broker.consumer.slots import Slots
from sluice.broker.delivery import Delivery
from sluice.broker.interface import Broker
from sluice.broker.messages import PLANNER, Message, Plan
from sluice.jobs.errors import BadSetting
from tests.broker.conftest import Post, Ran, parcel, until


class Stopping:
    """Attendant that records that the service is stopping."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def started(self) -> None: ...

    def stopping(self) -> None:
        self.told.set()

    def stopped(self) -> None: ...


def test_an_added_queue_is_served_with_its_waiting_messages(post: Post) -> None:
    ran = Ran()
    service = post.serve({"execute": ran})
    post.broker.publish(parcel(post.other_app, 1, 2, 3))
    post.broker.publish(parcel(post.app, 4))
    until(lambda: ran.jobs == [4])
    service.also_serve(post.other_app)
    until(lambda: sorted(ran.jobs) == [1, 2, 3, 4])
    post.broker.publish(parcel(post.other_app, 5))
    until(lambda: 5 in ran.jobs)
    assert post.broker.depth(post.other_app) == 0


def test_a_service_without_apps_can_add_its_first_app(post: Post) -> None:
    ran, planned = Ran(), threading.Event()
    handlers = {"execute": ran, "plan": lambda message, delivery: planned.set()}
    service = post.serve(handlers, [PLANNER])
    service.also_serve(post.app)
    post.broker.publish([*parcel(post.app, 1, 2), Plan(submissions=("x",))])
    until(lambda: sorted(ran.jobs) == [1, 2] and planned.is_set())


def test_a_queue_that_is_added_repeatedly_is_served_once(post: Post) -> None:
    ran = Ran()
    service = post.serve({"execute": ran})
    for _ in range(3):
        service.also_serve(post.app)
        service.also_serve(post.other_app)
    post.broker.publish(parcel(post.app, *range(20)) + parcel(post.other_app, *range(20, 40)))
    until(lambda: len(ran.jobs) == 40)
    assert sorted(ran.jobs) == list(range(40))


def test_a_long_backlog_does_not_block_an_added_queue(post: Post) -> None:
    ran, pause = Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        ran(message, delivery)
        pause.wait(0.15)

    post.broker.publish(parcel(post.app, *range(30)))
    service = post.serve({"execute": run}, slots=1)
    until(lambda: len(ran.jobs) >= 3)
    post.broker.publish(parcel(post.other_app, 1000))
    service.also_serve(post.other_app)
    until(lambda: 1000 in ran.jobs)
    behind = len(ran.jobs)
    post.broker.purge(post.app)
    assert behind < 30


def test_an_added_queue_shares_the_slots(post: Post) -> None:
    started, finish = Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        started(message, delivery)
        assert finish.wait(10)

    service = post.serve({"execute": run}, slots=1)
    post.broker.publish(parcel(post.app, 1))
    until(lambda: started.jobs == [1])
    post.broker.publish(parcel(post.other_app, 2))
    service.also_serve(post.other_app)
    until(lambda: post.broker.depth(post.other_app) == 1)
    assert started.jobs == [1]
    finish.set()
    until(lambda: started.jobs == [1, 2])


def test_a_stopped_service_adds_no_queue(post: Post) -> None:
    ran = Ran()
    service = post.serve({"execute": ran})
    service.stop(grace_s=5)
    post.broker.publish(parcel(post.other_app, 1))
    service.also_serve(post.other_app)
    until(lambda: post.broker.depth(post.other_app) == 1)
    assert ran.jobs == []


def test_a_service_does_not_stop_while_it_adds_a_queue(memory: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """The intake of a service that ends takes no queue any more."""
    broker, stopping, entered, go_on = _fresh(memory), Stopping(), threading.Event(), threading.Event()
    service = serve(broker, {"execute": Ran()}, ["a"], slots=Slots(control=0, apps=2), attendant=stopping)
    service.start()

    def take_slowly(queue: str) -> None:
        entered.set()
        assert go_on.wait(10)

    monkeypatch.setattr(service._intake, "also_take", take_slowly)
    taking = threading.Thread(target=service.also_serve, args=["b"])
    ending = threading.Thread(target=service.stop, kwargs={"grace_s": 5})
    taking.start()
    assert entered.wait(5)
    ending.start()
    assert not stopping.told.wait(0.2)
    go_on.set()
    assert stopping.told.wait(5)
    taking.join(5)
    ending.join(5)
    assert not taking.is_alive()
    assert not ending.is_alive()


def test_an_added_queue_is_served_again_after_a_reconnect(server: Post) -> None:
    proxy, ran = server.proxy(), Ran()
    service = server.serve({"execute": ran}, broker=server.connect(proxy.url))
    service.also_serve(server.other_app)
    for number in range(3):
        server.broker.publish(parcel(server.other_app, number))
        until(lambda number=number: number in ran.jobs)
        proxy.cut()
    server.broker.publish(parcel(server.app, 100))
    until(lambda: 100 in ran.jobs)


def test_all_queues_have_one_consumer_thread(memory: Post) -> None:
    ran, before = Ran(), set(threading.enumerate())
    queues = [f"{memory.app}{number}" for number in range(50)]
    broker = _fresh(memory)
    service = serve(broker, {"execute": ran}, queues[:40], slots=Slots(control=0, apps=2))
    service.start()
    for queue in queues[40:]:
        service.also_serve(queue)
    for number, queue in enumerate(queues):
        broker.publish(parcel(queue, number))
    until(lambda: len(ran.jobs) == len(queues))
    assert sorted(ran.jobs) == [*range(len(queues))]
    consumers = [each for each in set(threading.enumerate()) - before if isinstance(each, ConsumerThread)]
    assert len(consumers) == 1
    service.stop(grace_s=5)


def test_a_queue_that_cannot_be_served_is_refused(post: Post) -> None:
    service = post.serve({"execute": Ran()})
    with pytest.raises(BadSetting, match="the ending is reserved"):
        service.also_serve(f"{post.app}.XQ")
    without_slots = serve(_fresh(post), {"plan": Ran()}, [PLANNER], slots=Slots(control=1, apps=0))
    with pytest.raises(BadSetting, match="no slot"):
        without_slots.also_serve(post.app)


def _fresh(post: Post) -> Broker:
    """Return a broker without a service."""
    if post.kind == "memory":
        post = Post("memory", "memory://")
        return post.broker
    return post.connect()
