"""RabbitMQ and Redis for tests: found or started, used apart from everybody else's data, cleaned up after.

In this order: a URL from the environment; a server on loopback (in a virtual host or database of our
own); the server's program installed here, started on a free port; Docker. Where none can be had, the
test is skipped with one line that says how to get it; under ``CI=true`` it fails instead.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pika
import pytest
import redis

START_S_MAX = 40.0
_DEBIAN_RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_REDIS_LOCK = "sluice:tests"


class NotHereError(Exception):
    """This way does not lead to a server."""


Way = Callable[[], AbstractContextManager[str]]


@contextmanager
def redis_url() -> Iterator[str]:
    """A database that is empty and ours alone."""
    ways = (_redis_given, _redis_on_loopback, _redis_started, _redis_in_docker)
    with ExitStack() as stack:
        url = _first(stack, ways, "Redis: install redis-server, start Docker, or set SLUICE_TEST_REDIS_URL")
        yield stack.enter_context(_own_database(url))


@contextmanager
def rabbitmq_url() -> Iterator[str]:
    """A virtual host that is ours alone; of a server given by the environment, the one in its URL."""
    ways = (_rabbitmq_given, _rabbitmq_on_loopback, _rabbitmq_started, _rabbitmq_in_docker)
    advice = (
        "RabbitMQ: install rabbitmq-server, start Docker, or set SLUICE_TEST_RABBITMQ_URL (an empty vhost)"
    )
    with ExitStack() as stack:
        yield _first(stack, ways, advice)


def _first(stack: ExitStack, ways: tuple[Way, ...], advice: str) -> str:
    for way in ways:
        try:
            return stack.enter_context(way())
        except NotHereError:
            continue
    if os.environ.get("CI") == "true":
        pytest.fail(f"no {advice}", pytrace=False)
    pytest.skip(f"no {advice}")


@contextmanager
def _redis_given() -> Iterator[str]:
    yield _given("SLUICE_TEST_REDIS_URL")


@contextmanager
def _redis_on_loopback() -> Iterator[str]:
    url = "redis://127.0.0.1:6379"
    if not _redis_answers(url):
        raise NotHereError
    yield url


@contextmanager
def _redis_started() -> Iterator[str]:
    program, port = _program("redis-server"), _free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with tempfile.TemporaryDirectory() as folder, _running(command, cwd=folder):
        url = f"redis://127.0.0.1:{port}"
        _wait_for(lambda: _redis_answers(url))
        yield url


@contextmanager
def _redis_in_docker() -> Iterator[str]:
    with _container("redis", "RedisContainer", "redis:7") as container:
        yield f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(6379)}"


@contextmanager
def _own_database(url: str) -> Iterator[str]:
    """The first database that is empty, taken by a key in it; or the one that the URL itself names."""
    has_number = bool(url.rpartition("/")[2].isdigit())
    for number in [None] if has_number else range(15, 0, -1):
        client = redis.Redis.from_url(url if number is None else f"{url}/{number}")
        if client.dbsize() == 0 and client.set(_REDIS_LOCK, os.getpid(), nx=True, ex=3600):
            break
        client.close()
    else:
        pytest.fail(f"every database of {url} is in use; empty one of them", pytrace=False)
    try:
        yield url if number is None else f"{url}/{number}"
    finally:
        client.flushdb()
        client.close()


def _redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=1) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


@contextmanager
def _rabbitmq_given() -> Iterator[str]:
    yield _given("SLUICE_TEST_RABBITMQ_URL")


@contextmanager
def _rabbitmq_on_loopback() -> Iterator[str]:
    if not _rabbitmq_answers("amqp://guest:guest@127.0.0.1:5672/%2F"):
        raise NotHereError
    ctl = [_program("rabbitmqctl"), "--quiet"]
    vhost = f"sluice_test_{os.getpid()}_{secrets.token_hex(3)}"
    made = subprocess.run([*ctl, "add_vhost", vhost], capture_output=True, check=False)
    if made.returncode != 0:
        raise NotHereError  # Somebody else's server: we may use it, but not make room for ourselves.
    try:
        subprocess.run([*ctl, "set_permissions", "-p", vhost, "guest", ".*", ".*", ".*"], check=True)
        yield f"amqp://guest:guest@127.0.0.1:5672/{vhost}"
    finally:
        subprocess.run([*ctl, "delete_vhost", vhost], capture_output=True, check=False)


@contextmanager
def _rabbitmq_started() -> Iterator[str]:
    """A private node with its own epmd and cookie, all on loopback."""
    program = str(_DEBIAN_RABBITMQ) if _DEBIAN_RABBITMQ.exists() else _program("rabbitmq-server")
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="sluice-rabbitmq-") as name:
        folder = Path(name)
        (folder / "rabbitmq.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{port}\n")
        (folder / "plugins").write_text("[].\n")
        environment = _node_environment(folder)
        try:
            with _running([program], cwd=name, env=environment):
                url = f"amqp://guest:guest@127.0.0.1:{port}/%2F"
                _wait_for(lambda: _rabbitmq_answers(url))
                yield url
        finally:
            epmd = shutil.which("epmd")
            if epmd:
                subprocess.run([epmd, "-kill"], env=environment, capture_output=True, check=False)


def _node_environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "HOME": str(folder),
        "RABBITMQ_NODENAME": f"sluice{os.getpid()}@localhost",
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_DIST_PORT": str(_free_port()),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        "ERL_EPMD_PORT": str(_free_port()),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }


@contextmanager
def _rabbitmq_in_docker() -> Iterator[str]:
    with _container("rabbitmq", "RabbitMqContainer", "rabbitmq:4") as container:
        yield f"amqp://guest:guest@{container.get_container_host_ip()}:{container.get_exposed_port(5672)}/%2F"


def _rabbitmq_answers(url: str) -> bool:
    try:
        pika.BlockingConnection(pika.URLParameters(url)).close()
    except (pika.exceptions.AMQPError, OSError):
        return False
    return True


def _given(variable: str) -> str:
    url = os.environ.get(variable)
    if not url:
        raise NotHereError
    return url


def _program(name: str) -> str:
    # RabbitMQ is where not every user's PATH leads.
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin")
    if found is None:
        raise NotHereError
    return found


@contextmanager
def _container(module: str, kind: str, image: str) -> Iterator:
    if shutil.which("docker") is None:
        raise NotHereError
    testcontainers = pytest.importorskip(f"testcontainers.{module}")
    try:
        container = getattr(testcontainers, kind)(image).start()
    except Exception as error:  # Whatever Docker says, it is not to be had here.
        raise NotHereError from error
    try:
        yield container
    finally:
        container.stop()


@contextmanager
def _running(command: list[str], *, cwd: str, env: dict[str, str] | None = None) -> Iterator[None]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(answers: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_S_MAX
    while not answers():
        if time.monotonic() > deadline:
            raise NotHereError
        time.sleep(0.05)
