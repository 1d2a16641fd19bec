"""RabbitMQ and Redis servers of a single test, which may kill, restart and wipe them.

Each runs on free loopback ports with its data in a temporary folder: as a program installed on this machine, otherwise
in Docker. Nothing of it outlives the test.

    with rabbitmq() as server:
        publish(server.url)
        server.restart()             # SIGKILL, then the same data on the same port
        server.restart(wiped=True)   # the same port, without its data
"""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

import pytest

from tests.leashed import Program

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

START_S_MAX = 180.0
#: Path of the real program. Debian's program of this name in the PATH first changes to another user, which may not read
#: our folder.
DEBIAN_RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
#: Search path with folders of RabbitMQ that are missing in the PATH of most users.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
#: One scheduler that does not spin, and no port that other machines can reach.
ERLANG = "+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}"


class Greeting(NamedTuple):
    """Bytes to send to a server that may not be up yet, and the beginning of its answer once it is."""

    sent: bytes
    answer: bytes


class Kind(NamedTuple):
    """One kind of server."""

    name: str
    greeting: Greeting
    url: str
    image: str
    image_port: int
    image_command: str | None
    package: str


RABBITMQ = Kind(
    name="RabbitMQ",
    greeting=Greeting(b"AMQP\x00\x00\x09\x01", b"\x01\x00\x00"),
    url="amqp://guest:guest@127.0.0.1:{port}/%2F",
    image="rabbitmq:4",
    image_port=5672,
    image_command=None,
    package="rabbitmq-server",
)
REDIS = Kind(
    name="Redis",
    greeting=Greeting(b"PING\r\n", b"+PONG"),
    url="redis://127.0.0.1:{port}/0",
    image="redis:8",
    image_port=6379,
    image_command="redis-server --appendonly yes --appendfsync always",
    package="redis-server",
)


class Body(Protocol):
    """Way in which a server runs.

    ``start`` returns before the server answers. ``kill`` gives no warning. ``wipe`` removes the data of a killed
    server. ``complaint`` returns the reason if a started server will never answer, otherwise None. ``environment`` is
    that of the server's process; it is empty if the server runs in a container.
    """

    @property
    def environment(self) -> Mapping[str, str]: ...
    def start(self) -> None: ...
    def kill(self) -> None: ...
    def wipe(self) -> None: ...
    def complaint(self) -> str | None: ...


class PrivateServer:
    """A server that runs, or was killed and not restarted yet. Its URL stays the same."""

    def __init__(self, kind: Kind, port: int, body: Body) -> None:
        self.url = kind.url.format(port=port)
        self._kind, self._port, self._body = kind, port, body

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment in which the server's own programs find it."""
        return self._body.environment

    def kill(self) -> None:
        """Send SIGKILL. Confirmed data in durable queues or keys is on disk; the rest is lost.

        RabbitMQ 3.10 stores the existence of a new quorum queue half a second late. If it is killed before that, it
        knows the queue's name afterwards but never finds a leader for it, and clients wait in vain.
        """
        self._body.kill()
        while _listens(self._port):
            time.sleep(0.005)  # The process is still there while its memory is freed.

    def restart(self, *, wiped: bool = False) -> None:
        """Kill the server if it runs, and start it. With ``wiped`` its data is removed."""
        self.kill()
        if wiped:
            self._body.wipe()
        self._body.start()
        deadline = time.monotonic() + START_S_MAX
        while not _answers(self._port, self._kind.greeting):
            complaint = self._body.complaint()
            if complaint is None and time.monotonic() > deadline:
                complaint = f"no answer within {START_S_MAX:.0f} s"
            if complaint is not None:
                raise RuntimeError(f"{self._kind.name} of the tests' own does not start: {complaint}")
            time.sleep(0.02)


@contextmanager
def rabbitmq(*advice: str, conf: Sequence[str] = (), plugins: Sequence[str] = ()) -> Iterator[PrivateServer]:
    """Start a RabbitMQ for this test. ``guest`` has all rights in its one virtual host.

    ``advice`` has further ways to get one. They are in the message if neither the program nor Docker exists. ``conf``
    and ``plugins`` need the program, not Docker.
    """
    with ExitStack() as stack:
        local = partial(_local_rabbitmq, conf=conf, plugins=plugins)
        yield _up(RABBITMQ, stack, local, advice, also_in_docker=not (conf or plugins))


@contextmanager
def redis(*advice: str, conf: Sequence[str] = ()) -> Iterator[PrivateServer]:
    """Start a Redis for this test, which writes every change to disk before it confirms it.

    ``conf`` has arguments of its command line. It needs the program, not Docker.
    """
    with ExitStack() as stack:
        yield _up(REDIS, stack, partial(_local_redis, conf=conf), advice, also_in_docker=not conf)


#: Servers by the name of the option ``--broker``.
SERVERS = {"rabbit": rabbitmq, "redis": redis}


def _up(
    kind: Kind,
    stack: ExitStack,
    local: Callable[[int, ExitStack], Body | None],
    advice: Sequence[str],
    *,
    also_in_docker: bool = True,
) -> PrivateServer:
    port = free_port()
    body = local(port, stack) or (_in_docker(kind, port) if also_in_docker else None)
    if body is None:
        *ways, last = [f"install the package {kind.package}", "start Docker", *advice]
        missing = f"no {kind.name} of our own: {', '.join(ways)}, or {last}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    stack.callback(body.wipe)
    stack.callback(body.kill)
    server = PrivateServer(kind, port, body)
    server.restart()
    return server


def _local_rabbitmq(
    port: int, stack: ExitStack, *, conf: Sequence[str] = (), plugins: Sequence[str] = ()
) -> Body | None:
    """Return a node with its own name, cookie and epmd. It finds a running epmd, so it leaves none behind."""
    server = str(DEBIAN_RABBITMQ) if DEBIAN_RABBITMQ.exists() else shutil.which("rabbitmq-server", path=PATH)
    epmd = shutil.which("epmd", path=PATH)
    if server is None or epmd is None:
        return None
    folder = _folder(stack)
    (folder / "rabbitmq.conf").write_text("\n".join([f"listeners.tcp.1 = 127.0.0.1:{port}", *conf, ""]))
    (folder / "enabled_plugins").write_text(f"[{','.join(plugins)}].\n")
    (folder / "rabbitmq-env.conf").touch()
    epmd_port = str(free_port())
    environment = _environment() | {
        "HOME": str(folder),
        "ERL_EPMD_PORT": epmd_port,
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_NODENAME": f"sluice{port}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": ERLANG,
        "RUNNING_UNDER_SYSTEMD": "true",  # The script becomes the server, instead of waiting beside it.
    }
    names = Program([epmd, "-address", "127.0.0.1", "-port", epmd_port], _folder(stack), environment)
    stack.callback(names.kill)
    names.start()
    return Program([server], folder, environment)


def _local_redis(port: int, stack: ExitStack, *, conf: Sequence[str] = ()) -> Body | None:
    server = shutil.which("redis-server", path=PATH)
    if server is None:
        return None
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", *conf]
    return Program(
        [*command, "--appendonly", "yes", "--appendfsync", "always"], _folder(stack), _environment()
    )


class Container:
    """The server's official image, with a loopback port that stays the same over restarts."""

    def __init__(self, kind: Kind, port: int) -> None:
        self._kind, self._port = kind, port
        self._container = self._make()
        self._made = False
        self.environment: Mapping[str, str] = {}

    def _make(self) -> "DockerContainer":
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - slow, and rarely wanted

        container = DockerContainer(self._kind.image, command=self._kind.image_command)
        # Its own ``with_bind_ports`` would open the port to the whole network.
        container.ports[f"{self._kind.image_port}/tcp"] = ("127.0.0.1", self._port)
        return container

    def start(self) -> None:
        if self._made:
            self._container.get_wrapped_container().start()
        else:
            self._container.start()
            self._made = True

    def kill(self) -> None:
        if self._made:
            wrapped = self._container.get_wrapped_container()
            wrapped.reload()
            if wrapped.status == "running":
                wrapped.kill()

    def wipe(self) -> None:
        if self._made:
            self._container.stop()
            self._container, self._made = self._make(), False

    def complaint(self) -> str | None:
        return None


def _in_docker(kind: Kind, port: int) -> Body | None:
    return Container(kind, port) if docker_listens() else None


def docker_listens() -> bool:
    """Return whether Docker runs on this machine.

    Docker's own client, if it is refused, leaves its socket open, and the test fails because of that. A Docker on
    another machine is not usable, because its loopback is another one.
    """
    host = urlsplit(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    if host.scheme == "unix":
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(host.path) == 0
    return host.hostname in {"127.0.0.1", "localhost"} and _listens(host.port or 2375)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def _answers(port: int, greeting: Greeting) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(greeting.sent)
            return connection.recv(64).startswith(greeting.answer)
    except OSError:
        return False


def _environment() -> dict[str, str]:
    """Return our environment without variables that would lead a RabbitMQ to another node or other folders."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("RABBITMQ_", "ERL_"))}


def _folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-private-")))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
