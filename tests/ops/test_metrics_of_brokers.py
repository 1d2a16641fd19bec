"""Metrics of the messages that wait at a broker, if the broker can report them."""

from collections.abc import Iterator
from contextlib import closing
from threading import Event
from time import monotonic

import dramatiq
import pika
import pytest
import redis as redis_client

from sluice.broker.connect import connect
from sluice.broker.interface import Broker
from sluice.broker.messages import Execute
from sluice.jobs.errors import Unreachable
from sluice.ops.observe.metrics.broker_metrics import Carried
from tests.ops.test_metrics import read
from tests.ops.typist import Typist
from tests.servers import rabbitmq_url, redis_url


@pytest.fixture(params=["rabbitmq", "redis"])
def broker_url(request: pytest.FixtureRequest) -> Iterator[str]:
    with rabbitmq_url() if request.param == "rabbitmq" else redis_url() as url:
        yield url


def put_aside(url: str, queue: str) -> None:
    """Add a dead letter, as a rejection by the broker would."""
    if url.startswith("redis"):
        with redis_client.Redis.from_url(url) as client:
            client.zadd(f"dramatiq:{dramatiq.common.xq_name(queue)}", {"id": 1})
        return
    with closing(pika.BlockingConnection(pika.URLParameters(url))) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish("", dramatiq.common.xq_name(queue), b"?")


def test_waiting_messages_and_dead_letters_are_counted(desk_apart: Typist, broker_url: str) -> None:
    with closing(connect(broker_url)) as broker:
        broker.publish([Execute(app="nap", jobs=((1, 0),)), Execute(app="nap", jobs=((2, 0),))])
        put_aside(broker_url, "nap")
        said = desk_apart.types("metrics", SLUICE_BROKER_URL=broker_url)
        assert said.code == 0, said.err
        broker.purge("nap")
    found = read(said.out)
    assert found["sluice_broker_up", ()] == 1
    assert found["sluice_broker_messages", ("nap",)] == 2
    assert found["sluice_broker_dead_letters", ("nap",)] == 1
    assert found["sluice_broker_messages", ("planner",)] == 0


def test_without_the_broker_the_other_metrics_remain(desk: Typist) -> None:
    said = desk.types("metrics", SLUICE_BROKER_URL="redis://127.0.0.1:1")
    found = read(said.out)
    assert found["sluice_broker_up", ()] == 0
    assert ("sluice_broker_messages", ("planner",)) not in found
    assert ("sluice_queue_depth", ("nap",)) in found


def test_a_broker_that_never_answers_does_not_block_readers() -> None:
    asked = []

    def silent() -> Broker:
        asked.append(1)
        released.wait()
        raise Unreachable("It is away after all.")

    released = Event()
    silence = Carried(silent)
    assert [silence.read(["a"], monotonic() + 0.05), silence.read(["a"], monotonic() + 0.05)] == [None, None]
    assert asked == [1], "one asks at a time"
    released.set()
    assert silence.read(["a"], monotonic() + 20) is None
