"""Problems of a broker and the doctor's findings. Most problems are produced on a real broker."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from urllib.request import Request, urlopen

import pika
import pytest
import redis
from msgspec.structs import replace

from sluice.broker.address import parse_address
from sluice.broker.connect import connect
from sluice.broker.health import ClusterNode, Management, RabbitmqHealth, RedisHealth, Ruled
from sluice.broker.messages import Execute, JobRound
from sluice.broker.probe import examine
from sluice.broker.rabbitmq import health, topology
from sluice.jobs.errors import SluiceError
from sluice.ops.observe.doctor import brokers
from sluice.ops.observe.doctor.finding import Finding, FindingLevel
from sluice.ops.observe.doctor.run_probes import TookTooLong, within
from tests import private_servers
from tests.ops.typist import Typist
from tests.private_servers import PrivateServer
from tests.servers import rabbitmq_url, redis_url
from tests.unheard import unheard

QUEUES = ["planner", "fetch"]
#: RabbitMQ always needs more memory than this, so its memory alarm is raised.
NO_MEMORY = "vm_memory_high_watermark.absolute = 1MB"


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[str]:
    with rabbitmq_url() as url:
        yield url


@pytest.fixture(scope="module")
def redis_() -> Iterator[str]:
    with redis_url() as url:
        yield url


def _examined(url: str, *, queue_type: str = "quorum", management: str | None = None) -> list[Finding]:
    found = examine(url, QUEUES, namespace=_namespace(url), queue_type=queue_type, management=management)
    return list(brokers.rabbitmq(found) if isinstance(found, RabbitmqHealth) else _redis(found))


def _namespace(url: str) -> str:
    """Return the namespace of the queues. In RabbitMQ queues have the names of their apps without a prefix, as users
    have them.
    """
    return "" if url.startswith("amqp") else "doctor"


def _redis(found: object) -> Iterator[Finding]:
    assert isinstance(found, RedisHealth)
    yield from brokers.redis(found)


def _said(findings: list[Finding], level: FindingLevel) -> str:
    return "\n".join(f"{each.what} {each.advice}" for each in findings if each.level is level)


def _made(url: str, *, queue_type: str = "quorum") -> None:
    """Declare the queues and send one message, as a process with a message to send does."""
    with closing(connect(url, queue_type=queue_type, namespace=_namespace(url))) as broker:
        broker.publish([Execute(app="fetch", jobs=(JobRound(1, 0),))])


def test_a_healthy_rabbitmq_causes_no_warning(rabbitmq: str) -> None:
    _made(rabbitmq)
    findings = _examined(rabbitmq)
    told = _said(findings, FindingLevel.OK)
    assert "It is RabbitMQ " in told
    assert "1 queue of Sluice, in which 1 message waits." in told
    assert not _said(findings, FindingLevel.WARN) + _said(findings, FindingLevel.BAD)
    assert "guest:guest" not in repr(findings)


def test_a_queue_of_another_type_is_reported(rabbitmq: str) -> None:
    _made(rabbitmq)
    said = _said(_examined(rabbitmq, queue_type="classic"), FindingLevel.BAD)
    assert "The queue fetch differs from a queue of Sluice: PRECONDITION_FAILED" in said
    assert "x-queue-type" in said
    assert "SLUICE_QUEUE_TYPE" in said


def test_dead_letters_in_rabbitmq_are_reported(rabbitmq: str) -> None:
    _made(rabbitmq)
    with closing(pika.BlockingConnection(pika.URLParameters(rabbitmq))) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish("", "fetch.XQ", b"no message of ours")
        said = _said(_examined(rabbitmq), FindingLevel.WARN)
        channel.queue_purge("fetch.XQ")
    assert "1 message of the queue fetch could not be read." in said


@pytest.fixture(scope="module")
def own() -> Iterator[tuple[PrivateServer, str]]:
    """Yield a RabbitMQ with its management API, and the address of that API."""
    port = private_servers.free_port()
    conf = [f"management.tcp.port = {port}", "management.tcp.ip = 127.0.0.1", NO_MEMORY]
    with private_servers.rabbitmq(conf=conf, plugins=["rabbitmq_management"]) as server:
        place = f"http://127.0.0.1:{port}"
        _until_it_lists(server.url, place)
        yield server, place


def _until_it_lists(url: str, place: str) -> None:
    """Wait until the management API lists the memory alarm. It answers later than the broker itself, and lists a node
    before its alarms.
    """
    address = parse_address(url, setting="here")
    deadline = time.monotonic() + 30
    while not any(node.memory_alarm for node in health.management_facts(address, [], place).nodes):
        assert time.monotonic() < deadline, health.management_facts(address, [], place)
        time.sleep(0.1)


def test_a_rabbitmq_that_is_low_on_memory_is_reported(own: tuple[PrivateServer, str]) -> None:
    server, place = own
    said = _said(_examined(server.url, management=place), FindingLevel.BAD)
    assert "It accepts no messages: low on memory." in said, "according to AMQP"
    assert "has a memory alarm: publishing is blocked." in said, "according to the management API"


@contextmanager
def _ruled(place: str, **definition: object) -> Iterator[None]:
    """Apply this policy to all queues."""
    url = f"{place}/api/policies/%2F/tight"
    _send(
        "PUT", url, {"pattern": ".*", "definition": {k.replace("_", "-"): v for k, v in definition.items()}}
    )
    try:
        yield
    finally:
        _send("DELETE", url)


def _send(method: str, url: str, document: object = None) -> None:
    who = base64.b64encode(b"guest:guest").decode()
    headers = {"Authorization": f"Basic {who}", "Content-Type": "application/json"}
    body = json.dumps(document).encode() if document else None
    urlopen(Request(url, data=body, headers=headers, method=method), timeout=10).close()


def test_policies_that_drop_messages_are_reported(own: tuple[PrivateServer, str]) -> None:
    server, place = own
    with closing(pika.BlockingConnection(pika.URLParameters(server.url))) as connection:
        topology.declare(connection.channel(), "fetch", "quorum")
    with _ruled(place, max_length=5, message_ttl=1000, delivery_limit=2):
        said = _policies(server.url, place, "delivery-limit")
    assert "The queue fetch drops messages beyond 5." in said
    assert "drops messages that are older than 1000 ms." in said
    assert "drops messages that were returned 2 times." in said
    assert "Remove this option from the policy tight" in said


def _policies(url: str, place: str, word: str) -> str:
    """Return the warnings as soon as the management API lists this key of the policy."""
    address = parse_address(url, setting="here")
    deadline = time.monotonic() + 30
    while not any(word in each.words for each in health.management_facts(address, QUEUES, place).ruled):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return _said(_examined(url, management=place), FindingLevel.WARN)


def test_consumer_timeouts_lost_nodes_and_old_releases_of_rabbitmq_are_reported() -> None:
    """The values are made up: RabbitMQ 3.10 has no consumer timeout by policy, and the tests have a single node."""
    ruled = Ruled("fetch", "tight", {"consumer-timeout": 5_000, "expires": 60_000})
    nodes = [ClusterNode("rabbit@two", running=False, memory_alarm=False, disk_alarm=True)]
    found = RabbitmqHealth("here", "3.7.28", "", [], Management("there", nodes=nodes, ruled=[ruled]))
    said = "\n".join(each.what for each in brokers.rabbitmq(found))
    assert "takes back messages that are held for 5000 ms. Long jobs are not affected" in said
    assert "is deleted when it was unused for 60000 ms" in said
    assert "The node rabbit@two is down." in said
    assert "disk alarm" in said
    assert "versions before 3.10 are not tested" in said


@pytest.fixture
def own_redis() -> Iterator[str]:
    with private_servers.redis() as server:
        yield server.url


def test_a_healthy_redis_causes_no_warning(own_redis: str) -> None:
    _made(own_redis)
    findings = _examined(own_redis)
    assert "2 queues of Sluice, in which 1 message waits." in _said(findings, FindingLevel.OK)
    assert not _said(findings, FindingLevel.WARN) + _said(findings, FindingLevel.BAD)


def test_a_redis_that_can_lose_messages_is_reported(own_redis: str) -> None:
    with closing(redis.Redis.from_url(own_redis)) as client:
        client.config_set("appendonly", "no")
        assert "a restart loses every message" in _said(_examined(own_redis), FindingLevel.WARN)
        client.config_set("save", "3600 1")
        said = _said(_examined(own_redis), FindingLevel.WARN)
        assert "a crash loses all messages since the last one" in said
        assert "With appendfsync everysec, the default, a crash can still lose the last second or two" in said
        client.config_set("save", "")
        client.config_set("maxmemory", client.info()["used_memory"] + 40_000)
        client.config_set("maxmemory-policy", "allkeys-lru")
        findings = _examined(own_redis)
        assert "evicts messages (allkeys-lru)" in _said(findings, FindingLevel.WARN)
        assert "Its memory is nearly full" in _said(findings, FindingLevel.BAD)
        client.config_set("maxmemory", 0)
        client.config_set("maxmemory-policy", "noeviction")
        # A folder with the name of the dump file keeps Redis from writing it.
        (Path(client.config_get("dir")["dir"]) / "dump.rdb" / "in the way").mkdir(parents=True)
        client.bgsave()
        while client.info()["rdb_bgsave_in_progress"]:
            time.sleep(0.01)
        assert "Its last write to disk failed" in _said(_examined(own_redis), FindingLevel.BAD)
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        assert "It is a replica of another Redis" in _said(_examined(own_redis), FindingLevel.BAD)


def test_a_redis_with_unknown_save_settings_causes_a_warning(redis_: str) -> None:
    found = examine(redis_, QUEUES, namespace="doctor", queue_type="quorum")
    assert isinstance(found, RedisHealth)
    silent = replace(found, appends=False, saves=None)
    assert "loses all that are not saved" in _said(list(brokers.redis(silent)), FindingLevel.WARN)


def test_dead_letters_in_redis_are_reported(redis_: str) -> None:
    with closing(redis.Redis.from_url(redis_)) as client:
        client.zadd("doctor:fetch.XQ", {"one": 1, "two": 2})
    assert "2 messages of the queue fetch could not be read." in _said(_examined(redis_), FindingLevel.WARN)


def test_an_old_release_of_redis_is_reported(redis_: str) -> None:
    found = examine(redis_, QUEUES, namespace="doctor", queue_type="quorum")
    assert isinstance(found, RedisHealth)
    said = _said(list(brokers.redis(replace(found, version="5.0.14"))), FindingLevel.WARN)
    assert "It is Redis 5.0.14; versions before 6.2 are not tested." in said


@contextmanager
def _silent() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_the_password_is_not_sent_to_a_management_api_in_plain_text(tmp_path: Path, rabbitmq: str) -> None:
    typist = Typist(tmp_path, SLUICE_PLAINTEXT="refuse")
    with unheard() as place:
        said = typist.types("doctor", "--broker", rabbitmq, "--management", f"http://{place}")
    assert "bad  broker        --management: http:// is plain text." in said.out


@pytest.mark.parametrize("scheme", ["amqp", "redis"])
def test_a_broker_that_does_not_answer_is_reported(tmp_path: Path, scheme: str) -> None:
    with _silent() as place:
        said = Typist(tmp_path).types("doctor", "--broker", f"{scheme}://{place}")
    assert said.code == 3
    assert "cannot be used" in said.out
    assert "SLUICE_BROKER_URL" in said.out


def test_a_ledger_that_does_not_answer_is_out_of_reach(tmp_path: Path) -> None:
    with _silent() as place:
        said = Typist(tmp_path).types("doctor", "--ledger", f"postgresql://{place}/sluice", "--json")
    assert said.code == 3
    [finding] = [each for each in said.document["findings"] if each["out_of_reach"]]
    assert finding["about"] == "ledger"
    assert said.document["counts"]["bad"] == 1


def test_within_limits_the_time_of_a_call() -> None:
    never = Event()
    with pytest.raises(TookTooLong):
        within(0.1, never.wait)
    never.set()
    assert within(10, lambda: 5) == 5
    with pytest.raises(SluiceError):
        within(10, _complain)


def _complain() -> None:
    raise SluiceError("It will not do.")
