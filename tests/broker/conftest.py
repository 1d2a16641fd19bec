"""Fixtures for brokers of each kind, separate from other tests, and helpers of tests."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count

import pika
import pytest
import redis

from sluice.broker.connect import Broker, connect
from sluice.broker.consumer.service import Handler, Service, serve
from sluice.broker.consumer.slots import Slots
from sluice.broker.delivery import Delivery
from sluice.broker.messages import CONTROL, Execute, JobRound, Message
from tests.broker.proxy import Proxy
from tests.broker.worker import Child
from tests.servers import rabbitmq_url, redis_url

PORTS = {"rabbitmq": 5672, "redis": 6379}
_numbers = count(1)


def until(is_so: Callable[[], object], *, within_s: float = 10.0) -> None:
    """Wait until a condition is true. Fail the test if it stays false."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            pytest.fail(f"did not come true within {within_s:g} s")
        time.sleep(0.005)


def parcel(app: str, *jobs: int) -> list[Message]:
    """Return one message per job."""
    return [Execute(app=app, jobs=(JobRound(job, 0),)) for job in jobs]


class Ran:
    """Handler of execute messages that records their jobs."""

    def __init__(self) -> None:
        self.jobs: list[int] = []

    def __call__(self, message: Message, delivery: Delivery) -> None:
        assert isinstance(message, Execute)
        self.jobs += [turn.job for turn in message.jobs]


class Post:
    """One kind of broker in one test. Services and connections made here end with the test."""

    def __init__(self, kind: str, url: str) -> None:
        self.kind = kind
        self.url = url
        self.app = f"app{next(_numbers)}"
        self.other_app = f"{self.app}.other"
        # In RabbitMQ each test has its own queue names and no namespace, as is usual for users.
        self._namespace = "" if kind == "rabbitmq" else f"test{next(_numbers)}"
        self._services: list[Service] = []
        self._brokers: list[Broker] = []
        self._proxies: list[Proxy] = []
        self._children: list[Child] = []
        self.broker = self.connect()

    def connect(self, url: str | None = None, **options: object) -> Broker:
        """Return a new connection. For memory, which has only one, return the same broker."""
        if self.kind == "memory" and self._brokers:
            return self.broker
        broker = connect(url or self.url, **{"namespace": self._namespace, **options})
        self._brokers.append(broker)
        return broker

    def environment(self) -> dict[str, str]:
        """Return the environment variables that ``tests.broker.boot`` reads."""
        return {"BOOT_URL": self.url, "BOOT_NAMESPACE": self._namespace, "BOOT_QUEUE": self.app}

    def process(
        self, *, slots: int = 1, url: str | None = None, words: Mapping[str, str] | None = None
    ) -> Child:
        """Start a worker for this test's app in a process of its own."""
        child = Child(url or self.url, self._namespace, self.app, slots=slots, words=words)
        self._children.append(child)
        return child

    def proxy(self) -> Proxy:
        proxy = Proxy(self.url, default_port=PORTS[self.kind])
        self._proxies.append(proxy)
        return proxy

    def serve(
        self,
        handlers: Mapping[str, Handler],
        queues: Collection[str] | None = None,
        *,
        slots: int = 2,
        broker: Broker | None = None,
    ) -> Service:
        """Start a service with ``slots`` slots in each pool. By default it has a connection of its own."""
        service = serve(
            broker or self.connect(),
            handlers,
            [self.app] if queues is None else queues,
            slots=Slots(control=slots, apps=slots),
        )
        service.start()
        self._services.append(service)
        return service

    def put(self, queue: str, body: bytes) -> None:
        """Publish a body unchanged, as another program does."""
        if self.kind == "memory":
            self.broker.waiting(queue).put(body)
            self.broker.wake()
        elif self.kind == "redis":
            redis_id = f"stranger{next(_numbers)}"
            with redis.Redis.from_url(self.url) as client:
                client.hset(f"{self._namespace}:{queue}.msgs", redis_id, body)
                client.rpush(f"{self._namespace}:{queue}", redis_id)
        else:
            with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
                channel = connection.channel()
                channel.confirm_delivery()
                channel.basic_publish("", queue, body, pika.BasicProperties(delivery_mode=2))

    def redis_keys(self) -> set[str]:
        """Return this test's keys in Redis, without the namespace."""
        begin = f"{self._namespace}:"
        with redis.Redis.from_url(self.url) as client:
            return {key.decode().removeprefix(begin) for key in client.keys(f"{begin}*")}

    def bury(self, queue: str, dead_at_ms: Mapping[str, float]) -> None:
        """Add dead letters to Redis."""
        with redis.Redis.from_url(self.url) as client:
            client.zadd(f"{self._namespace}:{queue}.XQ", dict(dead_at_ms))
            client.hset(f"{self._namespace}:{queue}.XQ.msgs", mapping=dict.fromkeys(dead_at_ms, b"{}"))

    def buried(self, queue: str) -> set[str]:
        """Return the ids of the dead letters in Redis that have a body and a time."""
        with redis.Redis.from_url(self.url) as client:
            timed = client.zrange(f"{self._namespace}:{queue}.XQ", 0, -1)
            return {id_.decode() for id_ in {*timed} & {*client.hkeys(f"{self._namespace}:{queue}.XQ.msgs")}}

    def forget_everything(self) -> None:
        """Delete this test's keys and all scripts, as if Redis were restarted without its data."""
        with redis.Redis.from_url(self.url) as client:
            for key in client.keys(f"{self._namespace}:*"):
                client.delete(key)
            client.script_flush()

    def delete_queues(self, *queues: str) -> None:
        with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
            for queue in queues:
                channel = connection.channel()
                channel.queue_delete(queue)
                channel.queue_delete(f"{queue}.XQ")

    def end(self) -> None:
        for child in self._children:
            child.kill()
        for service in self._services:
            service.stop(grace_s=5)
        for broker in self._brokers:
            broker.close()
        for proxy in self._proxies:
            proxy.close()
        if self.kind == "rabbitmq":
            self.delete_queues(*CONTROL, self.app, self.other_app)


@pytest.fixture(autouse=True)
def quick_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make idle worker threads check more often whether they must stop, because these tests have many of them."""
    monkeypatch.setattr("sluice.broker.consumer.inbox.LOOK_S", 0.01)


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[str]:
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    with rabbitmq_url() as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture
def rabbitmq(rabbitmq_server: str) -> Iterator[Post]:
    post = Post("rabbitmq", rabbitmq_server)
    yield post
    post.end()


@pytest.fixture
def redis_post(redis_server: str) -> Iterator[Post]:
    post = Post("redis", redis_server)
    yield post
    post.end()


@pytest.fixture
def memory() -> Iterator[Post]:
    post = Post("memory", "memory://")
    yield post
    post.end()


@pytest.fixture(params=["memory", "rabbitmq", "redis_post"])
def post(request: pytest.FixtureRequest) -> Post:
    """Return each broker in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["rabbitmq", "redis_post"])
def server(request: pytest.FixtureRequest) -> Post:
    """Return each broker that is a server in turn."""
    return request.getfixturevalue(request.param)
