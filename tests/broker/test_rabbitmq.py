"""Behaviour specific to RabbitMQ: queues that were deleted or declared differently, lanes, and publisher confirms."""

import os
import re
import threading
import time
from socket import gethostname

import pika
import pytest

from sluice.broker.connect import connect
from sluice.broker.delivery import Delivery
from sluice.broker.messages import PLANNER, Message, Plan
from sluice.broker.rabbitmq import broker as rabbitmq_broker
from sluice.broker.rabbitmq.broker import RabbitmqBroker
from sluice.broker.rabbitmq.channel import Feed
from sluice.jobs.errors import BadSetting, Unreachable
from tests.broker.conftest import Post, Ran, parcel, until


def channel_of(post: Post) -> pika.adapters.blocking_connection.BlockingChannel:
    return pika.BlockingConnection(pika.URLParameters(post.url)).channel()


def test_a_queue_deleted_while_a_worker_serves_it_is_created_again(rabbitmq: Post) -> None:
    ran = Ran()
    rabbitmq.serve({"execute": ran}, [PLANNER, rabbitmq.app])
    for job in range(3):
        rabbitmq.broker.publish(parcel(rabbitmq.app, job))
        until(lambda job=job: job in ran.jobs)
        rabbitmq.delete_queues(rabbitmq.app)
    rabbitmq.broker.publish(parcel(rabbitmq.app, 3))
    until(lambda: 3 in ran.jobs)


def test_a_queue_deleted_while_its_worker_is_busy_is_created_again(rabbitmq: Post) -> None:
    ran, finish = Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        ran(message, delivery)
        assert finish.wait(10)

    rabbitmq.serve({"execute": run}, slots=1)
    rabbitmq.broker.publish(parcel(rabbitmq.app, 1, 2))
    until(lambda: ran.jobs == [1])
    until(lambda: rabbitmq.broker.depth(rabbitmq.app) == 1)
    rabbitmq.delete_queues(rabbitmq.app)
    finish.set()
    rabbitmq.broker.publish(parcel(rabbitmq.app, 3))
    until(lambda: 3 in ran.jobs)


def test_a_worker_continues_after_its_queue_is_purged(rabbitmq: Post) -> None:
    ran = Ran()
    rabbitmq.serve({"execute": ran})
    rabbitmq.broker.purge(rabbitmq.app)
    rabbitmq.broker.publish(parcel(rabbitmq.app, 1))
    until(lambda: ran.jobs == [1])


def test_a_queue_declared_with_other_arguments_is_an_error_with_advice(rabbitmq: Post) -> None:
    channel = channel_of(rabbitmq)
    channel.queue_declare(rabbitmq.app, durable=True)
    with pytest.raises(BadSetting, match="with other arguments") as raised:
        rabbitmq.serve({"execute": Ran()})
    assert rabbitmq.app in raised.value.what
    assert "rabbitmqctl delete_queue" in raised.value.advice
    channel.connection.close()


def test_queues_are_quorum_queues_by_default(rabbitmq: Post) -> None:
    rabbitmq.broker.publish(parcel(rabbitmq.app, 1))
    other = rabbitmq.connect(queue_type="classic")
    other.publish(parcel(rabbitmq.other_app, 1))
    channel = channel_of(rabbitmq)
    for queue, queue_type in ((rabbitmq.app, "quorum"), (rabbitmq.other_app, "classic")):
        limit = {"x-delivery-limit": 1_000_000} if queue_type == "quorum" else {}
        dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{queue}.XQ"}
        channel.queue_declare(queue, durable=True, arguments={"x-queue-type": queue_type, **dead, **limit})
    with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue"):
        channel.queue_declare(f"{rabbitmq.app}.DQ", passive=True)
    channel.connection.close()


def test_a_broker_that_sends_no_confirms_is_an_error_and_not_a_hang(
    rabbitmq: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_broker, "CONFIRM_S_MAX", 0.2)
    proxy = rabbitmq.proxy()
    broker = rabbitmq.connect(proxy.url)
    broker.publish(parcel(rabbitmq.app, 1))
    proxy.freeze()
    with pytest.raises(Unreachable, match="2 of 2 messages were not confirmed: no confirm within"):
        broker.publish(parcel(rabbitmq.app, 2, 3))


def test_a_wrong_password_is_reported_and_not_shown(rabbitmq: Post) -> None:
    with pytest.raises(Unreachable, match="ACCESS_REFUSED") as raised:
        connect(re.sub("://.*@", "://guest:wrong@", rabbitmq.url)).publish(parcel("etl", 1))
    assert "wrong" not in f"{raised.value.what}{raised.value.where}"


def test_short_jobs_do_not_open_and_close_lanes(rabbitmq: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    close_lanes, trim_lanes = Feed.close_lanes, Feed.trim_lanes

    def note_close(feed: Feed) -> None:
        closed.append(feed.queue)
        close_lanes(feed)

    def note_trim(feed: Feed, keep: int) -> None:
        if feed.idle_lanes > keep:
            closed.append(feed.queue)
        trim_lanes(feed, keep)

    monkeypatch.setattr(Feed, "close_lanes", note_close)
    monkeypatch.setattr(Feed, "trim_lanes", note_trim)
    ran = Ran()
    rabbitmq.serve({"execute": ran}, slots=2)
    rabbitmq.broker.publish(parcel(rabbitmq.app, *range(500)))
    until(lambda: len(ran.jobs) == 500)
    assert len(closed) <= 1  # A short pause of the machine may close one.


def test_messages_that_are_not_acknowledged_early_are_handled_concurrently(rabbitmq: Post) -> None:
    together = threading.Barrier(3)
    rabbitmq.serve({"plan": lambda message, delivery: together.wait(10) and None}, [PLANNER], slots=3)
    rabbitmq.broker.publish([Plan(submissions=(str(number),)) for number in range(3)])
    until(lambda: rabbitmq.broker.depth(PLANNER) == 0)
    until(lambda: not together.n_waiting)


def test_publishing_a_thousand_small_messages_takes_less_than_half_a_second(rabbitmq: Post) -> None:
    rabbitmq.broker.publish(parcel(rabbitmq.app, 0))
    began = time.perf_counter()
    rabbitmq.broker.publish(parcel(rabbitmq.app, *range(1000)))
    assert time.perf_counter() - began < 0.5


def test_switching_between_push_and_fetch_breaks_no_queue(
    rabbitmq: Post, caplog: pytest.LogCaptureFixture
) -> None:
    ran = Ran()

    def run(message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        threading.Event().wait(0.12)
        ran(message, delivery)

    rabbitmq.serve({"execute": run}, [rabbitmq.app, rabbitmq.other_app], slots=1)
    for number in range(3):
        rabbitmq.broker.publish(parcel(rabbitmq.app, number) + parcel(rabbitmq.other_app, 10 + number))
        until(lambda number=number: len(ran.jobs) == 2 * number + 2)
    assert not [record for record in caplog.records if "opened again" in record.getMessage()]
    assert sorted(ran.jobs) == [0, 1, 2, 10, 11, 12]


def test_the_names_of_connections_have_the_process_its_queues_and_the_machine(rabbitmq_server: str) -> None:
    broker = connect(rabbitmq_server, process="sluice worker fetch,report" + 100 * "x")
    assert isinstance(broker, RabbitmqBroker)
    names = [
        parameters.client_properties["connection_name"]
        for parameters in (broker.parameters, broker._publisher._parameters)
    ]
    broker.close()
    place = f", {os.getpid()} on {gethostname()}: "
    assert [name.partition(place)[2] for name in names] == ["requests", "publishes"]
    assert all(name.startswith("sluice worker fetch,reportxxx") for name in names)
    assert all(len(name.partition(place)[0]) == 80 for name in names)
