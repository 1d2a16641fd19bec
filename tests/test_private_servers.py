"""Private RabbitMQ and Redis servers: they keep confirmed data when they are killed, and leave nothing in the end."""

import secrets
import socket
import subprocess
import sys
import time
from contextlib import suppress
from urllib.parse import urlsplit

import pika
import psutil
import pytest
import redis as redis_client

from tests import private_servers


def test_a_killed_rabbitmq_is_back_with_its_confirmed_messages_and_leaves_no_process(mark: str) -> None:
    with private_servers.rabbitmq() as server:
        _publish(server.url, b"kept")
        time.sleep(1)  # Until the node has stored the new queue: see ``PrivateServer.kill``.
        server.kill()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0))
        server.restart()
        assert _waiting(server.url) == b"kept"
        server.restart(wiped=True)
        assert _waiting(server.url) is None
        assert _marked(mark)
    assert not _marked(mark)


def test_a_killed_redis_is_back_with_its_keys_and_leaves_no_process(mark: str) -> None:
    with private_servers.redis() as server, redis_client.Redis.from_url(server.url) as client:
        client.set("key", "kept")
        server.kill()
        with pytest.raises(redis_client.ConnectionError):
            client.ping()
        server.restart()
        assert client.get("key") == b"kept"
        server.restart(wiped=True)
        assert client.get("key") is None
        assert _marked(mark)
    assert not _marked(mark)


def test_a_server_does_not_outlive_a_test_process_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _ENTER_AND_WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert _answers(url)
        process.kill()
    deadline = time.monotonic() + 5
    while _answers(url):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    "docker", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:1", "tcp://another.invalid:2375"]
)
def test_a_missing_server_program_is_reported_with_ways_to_get_it(
    docker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_servers, "PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", docker)
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="install the package redis-server, or start Docker"):
        private_servers.redis().__enter__()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install the package redis-server, or start Docker"):
        private_servers.redis().__enter__()


_ENTER_AND_WAIT = """
from tests import private_servers
with private_servers.redis() as server:
    print(server.url, flush=True)
    input()
"""


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a mark in the environment of all processes that this test starts, even if their parent changes."""
    word = secrets.token_hex(8)
    monkeypatch.setenv("SLUICE_TEST_MARK", word)
    return word


def _marked(mark: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("SLUICE_TEST_MARK") == mark:
                found.append(process.name())
    return found


def _answers(url: str) -> bool:
    try:
        with redis_client.Redis.from_url(url, retry=None) as client:
            return bool(client.ping())
    except redis_client.ConnectionError:
        return False


def _publish(url: str, body: bytes) -> None:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare("planner", durable=True, arguments={"x-queue-type": "quorum"})
    channel.basic_publish("", "planner", body, pika.BasicProperties(delivery_mode=2), mandatory=True)
    connection.close()


def _waiting(url: str) -> bytes | None:
    """Return the first message of the queue, or None if it is empty."""
    body: bytes | None
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.queue_declare("planner", durable=True, arguments={"x-queue-type": "quorum"})
    _, _, body = channel.basic_get("planner", auto_ack=True)
    connection.close()
    return body
