"""Servers that are killed, cut off or missing, and processes that die. No message is lost by any of this."""

import threading
import time

import pytest

from sluice.broker.connect import connect
from sluice.broker.consumer.service import serve
from sluice.broker.consumer.slots import Slots
from sluice.broker.delivery import Delivery
from sluice.broker.messages import Message
from sluice.jobs.errors import Unreachable
from tests.broker.conftest import Post, Ran, parcel, until

DEAD = {"rabbitmq": "amqp://someone:secret@127.0.0.1:1/", "redis": "redis://someone:secret@127.0.0.1:1/0"}


@pytest.mark.parametrize("url", DEAD.values(), ids=DEAD)
def test_publishing_to_a_closed_port_soon_fails_and_names_the_address(url: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable) as raised:
        connect(url).publish(parcel("etl", 1))
    assert time.monotonic() - began < 3
    assert "127.0.0.1:1" in raised.value.where
    assert "refused" in raised.value.what
    assert "secret" not in f"{raised.value.what}{raised.value.where}{raised.value.advice}"


@pytest.mark.parametrize("url", DEAD.values(), ids=DEAD)
def test_a_worker_does_not_start_on_a_closed_port(url: str) -> None:
    with pytest.raises(Unreachable):
        serve(connect(url), {"execute": Ran()}, ["etl"], slots=Slots(control=1, apps=1))


def test_publishing_continues_after_an_idle_connection_was_cut(server: Post) -> None:
    proxy = server.proxy()
    broker = server.connect(proxy.url)
    broker.publish(parcel(server.app, 1))
    assert broker.depth(server.app) == 1
    for number in range(2, 6):
        proxy.cut()
        broker.publish(parcel(server.app, number))
        assert broker.depth(server.app) == number
    assert broker.dead_letters(server.app) == 0


def test_a_worker_soon_reconnects_after_a_cut(server: Post) -> None:
    proxy, ran = server.proxy(), Ran()
    server.serve({"execute": ran}, broker=server.connect(proxy.url))
    for number in range(5):
        server.broker.publish(parcel(server.app, number))
        until(lambda number=number: number in ran.jobs)
        proxy.cut()
    server.broker.publish(parcel(server.app, 100))
    until(lambda: 100 in ran.jobs, within_s=1.5)


def test_a_handler_does_not_wait_for_an_unavailable_broker(server: Post) -> None:
    proxy, ran, go_on = server.proxy(), Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        ran(message, delivery)
        assert go_on.wait(10)

    service = server.serve({"execute": run}, slots=1, broker=server.connect(proxy.url))
    server.broker.publish(parcel(server.app, 1))
    until(lambda: ran.jobs)
    proxy.close()
    go_on.set()
    until(lambda: service.slots.apps.busy == 0, within_s=1)


def test_an_acknowledgement_for_a_lost_connection_affects_no_other_message(server: Post) -> None:
    """Finding 1 of the reliability notes: plain dramatiq acknowledges a message that has not run.

    Delivery tags start again with each connection. Message 2 has the second tag of the first connection. It ends when
    message 3 has the second tag of the next connection.
    """
    proxy = server.proxy()
    child = server.process(slots=3, url=proxy.url)
    server.broker.publish(parcel(server.app, 1))
    until(lambda: "begin 1" in child.said)
    child.let_end(1)
    until(lambda: "end 1" in child.said)
    server.broker.publish(parcel(server.app, 2))
    until(lambda: "begin 2" in child.said)
    proxy.cut()
    if server.kind == "rabbitmq":
        until(lambda: child.said.count("begin 2") == 2)
    server.broker.publish(parcel(server.app, 3))
    until(lambda: "begin 3" in child.said)
    child.let_end(2)
    until(lambda: child.said.count("end 2") == child.said.count("begin 2"))
    server.broker.publish(parcel(server.app, 4))
    until(lambda: "begin 4" in child.said)
    child.kill()
    other = server.process(slots=4)
    until(lambda: {"begin 3", "begin 4"} <= set(other.said))


def test_unacknowledged_messages_of_a_killed_process_are_handled_by_another(server: Post) -> None:
    child = server.process()
    server.broker.publish(parcel(server.app, 1))
    until(lambda: child.said == ["begin 1"])
    child.kill()
    ran = Ran()
    server.serve({"execute": ran}, broker=server.connect(heartbeat_timeout_s=1.0))
    until(lambda: ran.jobs == [1])


def test_a_message_acknowledged_early_by_a_killed_process_is_not_repeated(server: Post) -> None:
    child = server.process()
    server.broker.publish(parcel(server.app, 100))
    until(lambda: child.said == ["begin 100"])
    server.broker.publish(parcel(server.app, 1))
    child.let_end(100)
    until(lambda: "begin 1" in child.said)
    child.kill()
    ran = Ran()
    server.serve({"execute": ran}, broker=server.connect(heartbeat_timeout_s=1.0))
    until(lambda: 1 in ran.jobs)
    assert ran.jobs == [1]


def test_an_idle_process_handles_messages_that_wait_behind_a_busy_process(server: Post) -> None:
    started, finish, ran = Ran(), threading.Event(), Ran()

    def run(message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        started(message, delivery)
        assert finish.wait(20)

    server.serve({"execute": run}, slots=1)
    server.broker.publish(parcel(server.app, 1))
    until(lambda: started.jobs == [1])
    server.broker.publish(parcel(server.app, 2, 3, 4))
    server.serve({"execute": ran}, slots=1)
    until(lambda: sorted(ran.jobs) == [2, 3, 4])
    server.broker.publish(parcel(server.app, 5))
    until(lambda: 5 in ran.jobs, within_s=1)
    assert started.jobs == [1]
    finish.set()
    server.broker.publish(parcel(server.app, *range(10, 60)))
    until(lambda: len(ran.jobs) + len(started.jobs) == 55)


def test_a_freed_slot_is_used_at_once(server: Post) -> None:
    began: list[float] = []
    ended: list[float] = []

    def run(message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        began.append(time.perf_counter())
        threading.Event().wait(0.15)
        ended.append(time.perf_counter())

    server.serve({"execute": run}, slots=1)
    server.broker.publish(parcel(server.app, *range(6)))
    until(lambda: len(ended) == 6)
    gaps = sorted(next_began - end for end, next_began in zip(ended, began[1:], strict=False))
    assert gaps[len(gaps) // 2] < 0.05
