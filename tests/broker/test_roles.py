"""Access rights of each user of RabbitMQ and Redis: the lines that ``roles`` returns, applied to real servers."""

import json
import re
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple
from urllib.parse import urlsplit

import pika
import pytest
import redis
from pika.exceptions import ChannelClosedByBroker, UnroutableError
from redis.exceptions import ResponseError

from sluice.broker import roles
from sluice.broker.connect import connect
from sluice.broker.consumer.service import serve
from sluice.broker.consumer.slots import Slots
from sluice.broker.health import RabbitmqHealth
from sluice.broker.messages import PLANNER, Cancel, Executed, Plan
from sluice.broker.probe import examine
from sluice.broker.rabbitmq.topology import SUBMIT_EXCHANGE
from sluice.jobs.errors import Unreachable
from tests import private_servers
from tests.broker.conftest import Ran, parcel, until
from tests.broker.test_codec import envelope

PASSWORD = "of-no-use-elsewhere"
CANCEL = envelope(actor_name="cancel", kwargs={"submission": "one"})


class Users(NamedTuple):
    """Users in a virtual host of the test's own. ``url`` is the address for a role."""

    place: str
    prefix: str

    def url(self, role: str) -> str:
        parts = urlsplit(self.place)
        return f"{parts.scheme}://{self.prefix}_{role}:{PASSWORD}@{parts.hostname}:{parts.port}{parts.path}"


@pytest.fixture(scope="module")
def users(rabbitmq_server: str) -> Iterator[Users]:
    ctl = shutil.which("rabbitmqctl", path=private_servers.PATH)
    vhost = urlsplit(rabbitmq_server).path.removeprefix("/")
    if ctl is None or not vhost.startswith("sluice_test_"):
        pytest.skip("users are made on loopback's RabbitMQ alone, by rabbitmqctl")
    prefix = f"{vhost}_{secrets.token_hex(3)}"
    names = ", ".join(f'<<"{prefix}_{role}">>' for role in roles.RABBITMQ)
    made = f'[rabbit_auth_backend_internal:add_user(U, <<"{PASSWORD}">>, <<"tests">>) || U <- [{names}]].'
    gone = f'[rabbit_auth_backend_internal:delete_user(U, <<"tests">>) || U <- [{names}]].'
    subprocess.run([ctl, "--quiet", "eval", made], check=True, capture_output=True)
    try:
        for line in roles.rabbitmq(prefix, vhost).splitlines():
            subprocess.run([ctl, "--quiet", *shlex.split(line)[1:]], check=True, capture_output=True)
        yield Users(rabbitmq_server, prefix)
    finally:
        subprocess.run([ctl, "--quiet", "eval", gone], check=True, capture_output=True)


def test_in_a_namespace_a_role_has_only_the_queues_of_that_namespace() -> None:
    rights = roles.permissions("one")
    configure, write, read = rights["worker"]
    assert configure == read
    for name, is_allowed in {
        "one:etl": True,
        "one:etl.XQ": True,
        "one:planner": False,
        "one:groomer.XQ": False,
        "one:sluice.submit": False,
        "etl": False,
        "two:etl": False,
    }.items():
        assert bool(re.search(configure, name)) is is_allowed, name
    assert re.search(rights["control"][0], "one:planner")
    assert not re.search(rights["control"][0], "planner")
    assert re.search(rights["submitter"][1], "one:sluice.submit")
    assert not re.search(rights["submitter"][1], "sluice.submit")
    assert re.search(write, "amq.default")


def test_each_role_can_do_its_work_with_its_own_rabbitmq_user(users: Users) -> None:
    """The submitter submits, control notifies a worker, the worker notifies control, and an operator publishes a plan
    and a cancellation. A cancellation from the submitter becomes a dead letter.
    """
    heard: list[str] = []

    def note(message: object, _: object) -> None:
        heard.append(type(message).__name__)

    ran = Ran()
    handlers = dict.fromkeys(("submit", "cancel", "executed", "plan"), note)
    with (
        closing(connect(users.url("control"))) as control,
        closing(connect(users.url("worker"))) as worker,
        closing(connect(users.url("operator"))) as operator,
    ):
        planning = serve(control, handlers, [PLANNER], slots=Slots(control=2, apps=0))
        working = serve(worker, {"execute": ran}, ["etl"], slots=Slots(control=0, apps=2))
        planning.start()
        working.start()
        try:
            _submit(users, envelope())
            until(lambda: heard == ["Submit"])
            control.publish(parcel("etl", 1))
            until(lambda: ran.jobs == [1])
            worker.publish([Executed(jobs=(1,))])
            operator.publish([Plan(submissions=("one",)), Cancel(submission="one")])
            until(lambda: len(heard) == 4)
            _submit(users, CANCEL)
            until(lambda: control.dead_letters(PLANNER) == 1)
            assert sorted(heard) == ["Cancel", "Executed", "Plan", "Submit"]
            _examined(users)
        finally:
            planning.stop(grace_s=5)
            working.stop(grace_s=5)


def test_rabbitmq_refuses_actions_that_a_role_does_not_need(users: Users) -> None:
    with closing(connect(users.url("control"))) as control:
        control.ensure([PLANNER, "groomer", "etl"])
    for role, attempts in _ATTEMPTS.items():
        with closing(pika.BlockingConnection(pika.URLParameters(users.url(role)))) as connection:
            for attempt in attempts:
                channel = connection.channel()
                channel.confirm_delivery()
                with pytest.raises(ChannelClosedByBroker, match="ACCESS_REFUSED"):
                    attempt(channel)
    with pytest.raises(UnroutableError):
        _submit(users, envelope(), queue="etl")


def _take(queue: str):  # type: ignore[no-untyped-def] # pika's channels have no types here
    return lambda channel: channel.basic_get(queue)


_EVERYBODYS = [_take(PLANNER), _take("groomer"), lambda channel: channel.queue_delete(PLANNER)]
_BOUND = [
    lambda channel: channel.queue_bind("etl", "amq.fanout"),
    lambda channel: channel.exchange_delete(SUBMIT_EXCHANGE),
    lambda channel: channel.queue_purge("planner.XQ"),
]
_ATTEMPTS = {
    "worker": [*_EVERYBODYS, *_BOUND],
    "operator": [*_EVERYBODYS, *_BOUND, _take("etl"), lambda channel: channel.exchange_declare("mine")],
    "submitter": [
        *_EVERYBODYS,
        *_BOUND,
        _take("etl"),
        lambda channel: channel.queue_declare("mine"),
        lambda channel: channel.exchange_declare("mine"),
        lambda channel: channel.basic_publish("", PLANNER, envelope(), mandatory=True),
        lambda channel: channel.basic_publish("amq.direct", PLANNER, envelope(), mandatory=True),
    ],
    "control": [lambda channel: channel.exchange_delete("amq.fanout")],
}


def _submit(users: Users, body: bytes, *, queue: str = PLANNER) -> None:
    """Publish as the submitter, as ``docs/submit.mjs`` does with ``EXCHANGE=sluice.submit``."""
    with closing(pika.BlockingConnection(pika.URLParameters(users.url("submitter")))) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish(
            SUBMIT_EXCHANGE, queue, body, pika.BasicProperties(delivery_mode=2), mandatory=True
        )


def _examined(users: Users) -> None:
    """Check that the examination finds no fault, although an operator may not declare queues."""
    found = examine(users.url("operator"), [PLANNER, "etl"], namespace="", queue_type="quorum")
    assert isinstance(found, RabbitmqHealth)
    assert found.blocked == ""
    assert [(line.queue, line.exists, line.differs) for line in found.lines] == [
        (PLANNER, True, ""),
        ("etl", True, ""),
    ]


def test_each_role_can_do_its_work_and_nothing_else_with_its_redis_user() -> None:
    with private_servers.redis() as server:
        place = server.url.removeprefix("redis://")
        with redis.Redis.from_url(server.url) as admin:
            for line in roles.redis("tested", "ours").splitlines():
                admin.execute_command(*line.split())  # type: ignore[no-untyped-call] # redis-py has no types
            for role in roles.REDIS:
                admin.execute_command("ACL", "SETUSER", f"tested_{role}", f">{PASSWORD}")  # type: ignore[no-untyped-call] # redis-py has no types
            admin.set("theirs", "x")

        def url(role: str) -> str:
            return f"redis://tested_{role}:{PASSWORD}@{place}"

        heard: list[str] = []
        ran = Ran()

        def note(message: object, _: object) -> None:
            heard.append(type(message).__name__)

        with closing(connect(url("worker"), namespace="ours")) as worker:
            handlers = {"submit": note, "execute": ran}
            service = serve(worker, handlers, [PLANNER, "etl"], slots=Slots(control=1, apps=1))
            service.start()
            try:
                _push(url("submitter"), envelope())
                until(lambda: heard == ["Submit"])
                worker.publish(parcel("etl", 1))
                until(lambda: ran.jobs == [1])
                _push(url("submitter"), b"nonsense")
                until(lambda: worker.dead_letters(PLANNER) == 1)
            finally:
                service.stop(grace_s=5)
        assert examine(url("operator"), [PLANNER], namespace="ours", queue_type="quorum") is not None
        with closing(connect(url("worker"), namespace="others")) as stranger, pytest.raises(Unreachable):
            stranger.publish(parcel("etl", 1))
        for role, commands in _REFUSED.items():
            with redis.Redis.from_url(url(role)) as client:
                for command in commands:
                    with pytest.raises(ResponseError, match=r"permission|user executing the script"):
                        client.execute_command(*command.split())  # type: ignore[no-untyped-call] # redis-py has no types


_SERVERS = (
    "FLUSHALL",
    "CONFIG SET maxmemory 1",
    "SHUTDOWN NOSAVE",
    "ACL LIST",
    "GET theirs",
)
_REFUSED = {
    "worker": (
        *_SERVERS,
        "INFO",
        "CONFIG GET save",
        "DEL theirs",
        "EVAL return(redis.call('get','theirs')) 0",
    ),
    "operator": (*_SERVERS, "DEL theirs"),
    "submitter": (
        *_SERVERS,
        "INFO",
        "LPOP ours:planner",
        "LRANGE ours:planner 0 -1",
        "HGETALL ours:planner.msgs",
        "HSET ours:planner.msgs an-id x",
        "HDEL ours:planner.msgs an-id",
        "DEL ours:planner",
        "RPUSH ours:etl x",
        "EVAL return(1) 0",
        "PUBLISH ours:__bell__ planner",
    ),
}


def _push(url: str, body: bytes) -> None:
    """Push a body as ``docs/security.md`` describes: the body under an id, and the id on the list."""
    redis_id = secrets.token_hex(8)
    with redis.Redis.from_url(url) as client, client.pipeline(transaction=True) as together:
        together.hsetnx("ours:planner.msgs", redis_id, body)  # type: ignore[arg-type] # it takes bytes
        together.rpush("ours:planner", redis_id)
        together.execute()


def test_lines_for_a_shell_are_quoted() -> None:
    line = roles.rabbitmq("x", "it's; id #").splitlines()[0]
    assert shlex.split(line)[3] == "it's; id #"
    assert json.dumps(shlex.split(line)[4:]).count("x_control") == 1
