"""RabbitMQ and Redis for tests: found or started, separated from other data, and cleaned up afterwards.

They are looked up in this order: a URL from the environment; a server on loopback, in a virtual host or database of its
own; a private server, from the program installed here or from Docker. If there is none, the test is skipped with one
line that explains how to get one. Under ``CI=true`` it fails instead.
"""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pika
import pytest
import redis

from sluice.broker.connect import NAMESPACE
from sluice.broker.rabbitmq.topology import OWNER_QUEUE
from tests import private_servers
from tests.leftovers import undone_by

_REDIS_ON_LOOPBACK = "redis://127.0.0.1:6379"
_REDIS_LOCK = "sluice:tests"
_FLUSH = "import redis, sys; redis.Redis.from_url(sys.argv[1]).flushdb()"
_RABBITMQ_ON_LOOPBACK = "amqp://guest:guest@127.0.0.1:5672"


@contextmanager
def redis_url() -> Iterator[str]:
    """Yield the URL of an empty database that no other process uses."""
    with ExitStack() as stack:
        shared = os.environ.get("SLUICE_TEST_REDIS_URL") or _redis_on_loopback()
        if shared:
            yield stack.enter_context(_own_database(shared))
        else:
            yield stack.enter_context(private_servers.redis("set SLUICE_TEST_REDIS_URL")).url


@contextmanager
def rabbitmq_url() -> Iterator[str]:
    """Yield the URL of a virtual host that no other process uses.

    For a server from the environment, it is that of its URL.
    """
    with ExitStack() as stack:
        url = os.environ.get("SLUICE_TEST_RABBITMQ_URL") or _own_virtual_host(stack)
        if not url:
            advice = "set SLUICE_TEST_RABBITMQ_URL (an empty vhost)"
            url = stack.enter_context(private_servers.rabbitmq(advice)).url
        yield url


def forget_owner(url: str) -> None:
    """Remove the owner of a broker, because the next test has another ledger."""
    if url.startswith("redis"):
        with redis.Redis.from_url(url) as client:
            client.delete(f"{NAMESPACE}:__installation__")
    else:
        with pika.BlockingConnection(pika.URLParameters(url)) as connection:
            connection.channel().queue_delete(OWNER_QUEUE)


def empty_database(client: redis.Redis) -> None:
    """Delete all keys except the key that reserves the database. Otherwise another process would take it."""
    for key in set(client.keys()) - {_REDIS_LOCK.encode()}:
        client.delete(key)


def _redis_on_loopback() -> str | None:
    try:
        with redis.Redis.from_url(_REDIS_ON_LOOPBACK, socket_connect_timeout=1) as client:
            return _REDIS_ON_LOOPBACK if client.ping() else None
    except redis.RedisError:
        return None


@contextmanager
def _own_database(url: str) -> Iterator[str]:
    """Yield the first empty database, reserved by a key in it, or the database that the URL names."""
    has_number = url.rpartition("/")[2].isdigit()
    for number in [None] if has_number else range(15, 0, -1):
        client = redis.Redis.from_url(url if number is None else f"{url}/{number}")
        taken = client.dbsize() == 0 and client.set(_REDIS_LOCK, os.getpid(), nx=True, ex=3600)
        client.close()
        if taken:
            break
    else:
        pytest.fail(f"every database of {url} is in use; empty a database", pytrace=False)
    own = url if number is None else f"{url}/{number}"
    with undone_by(sys.executable, "-c", _FLUSH, own):
        yield own


def _own_virtual_host(stack: ExitStack) -> str | None:
    """Make a virtual host in RabbitMQ on loopback. None if there is no RabbitMQ, or this user may not make one."""
    rabbitmqctl = shutil.which("rabbitmqctl", path=private_servers.PATH)
    if rabbitmqctl is None or not _rabbitmq_answers(f"{_RABBITMQ_ON_LOOPBACK}/%2F"):
        return None
    name = f"sluice_test_{os.getpid()}_{secrets.token_hex(3)}"
    ctl = [rabbitmqctl, "--quiet"]
    stack.enter_context(undone_by(*ctl, "delete_vhost", name))
    if subprocess.run([*ctl, "add_vhost", name], capture_output=True, check=False).returncode != 0:
        return None
    subprocess.run([*ctl, "set_permissions", "-p", name, "guest", ".*", ".*", ".*"], check=True)
    return f"{_RABBITMQ_ON_LOOPBACK}/{name}"


def _rabbitmq_answers(url: str) -> bool:
    try:
        pika.BlockingConnection(pika.URLParameters(url)).close()
    except (pika.exceptions.AMQPError, OSError):
        return False
    return True
