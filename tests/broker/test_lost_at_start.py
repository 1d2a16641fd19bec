"""RabbitMQ connections that are lost at any step of a start. The step is repeated, and no traceback is logged."""

import logging
from collections.abc import Iterator

import pytest

from sluice.broker.interface import Broker
from sluice.broker.messages import PLANNER
from sluice.broker.owner import InstallationOwner
from sluice.broker.rabbitmq.topology import OWNER_QUEUE
from sluice.jobs.errors import Unreachable
from tests.broker.conftest import Post, Ran, parcel, until
from tests.broker.proxy import Break, Proxy

#: By step, the AMQP class and method that it sends.
STEPS = {
    "begin": b"\0\x0a\0\x0b",
    "open the connection": b"\0\x0a\0\x28",
    "open a channel": b"\0\x14\0\x0a",
    "declare a queue": b"\0\x32\0\x0a",
    "declare an exchange": b"\0\x28\0\x0a",
    "bind": b"\0\x32\0\x14",
    "ask for confirms": b"\0\x55\0\x0a",
    "publish": b"\0\x3c\0\x28",
    "limit the messages": b"\0\x3c\0\x0a",
    "consume": b"\0\x3c\0\x14",
}


@pytest.fixture
def proxy(rabbitmq: Post, caplog: pytest.LogCaptureFixture) -> Iterator[Proxy]:
    """Yield a proxy. Check afterwards that no lost connection has caused a traceback in the log."""
    caplog.set_level(logging.DEBUG, logger="dramatiq")
    yield rabbitmq.proxy()
    rabbitmq.delete_queues(OWNER_QUEUE)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def _connected(rabbitmq: Post, proxy: Proxy) -> Broker:
    return rabbitmq.connect(proxy.url, owner=InstallationOwner("0123456789ab", "postgresql://here/sluice"))


@pytest.mark.parametrize("where", list(Break))
@pytest.mark.parametrize("step", STEPS)
def test_a_worker_starts_even_if_a_connection_is_lost(
    rabbitmq: Post, proxy: Proxy, step: str, where: Break
) -> None:
    broker, ran = _connected(rabbitmq, proxy), Ran()
    proxy.end_at(STEPS[step], where)
    broker.require_own()
    broker.depth(PLANNER)
    rabbitmq.serve({"execute": ran}, [PLANNER, rabbitmq.app], broker=broker)
    broker.publish(parcel(rabbitmq.app, 1))
    until(lambda: 1 in ran.jobs)
    assert proxy.broken[where] == 1


@pytest.mark.parametrize("step", list(STEPS)[:4])
def test_a_rabbitmq_that_loses_every_connection_is_reported_as_unreachable(
    rabbitmq: Post, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    broker = _connected(rabbitmq, proxy)
    monkeypatch.setattr(proxy, "_awaited", _Always({Break.BEFORE: STEPS[step]}))
    with pytest.raises(Unreachable, match="RabbitMQ cannot be used"):
        broker.require_own()
    with pytest.raises(Unreachable, match="RabbitMQ cannot be used"):
        rabbitmq.serve({}, [PLANNER], broker=broker)


class _Always(dict[Break, bytes]):
    """Awaited patterns that are not used up, so that the connection breaks each time."""

    def pop(self, key: Break, default: object = None) -> object:  # type: ignore[override] # called in one way
        return self.get(key, default)
