"""Entries of the system, and the required reaction of each to hostile input."""

import io
import random
import socket
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import quote

import psycopg

from sluice.broker import codec
from sluice.jobs.catalogue import parse_policy
from sluice.jobs.catalogue.fields.policy_options import POLICY_WORDS
from sluice.jobs.errors import BadMessage, BadRequest
from sluice.jobs.states import LIVE
from sluice.ledger.limits import app_pauses
from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.request_head import BadHead, read_head
from sluice.ops.console.server import ListenAddress
from tests.broker.hostile import hostile_messages
from tests.fuzz import inputs
from tests.ops.console_client import Asker, told
from tests.world import World

#: Statuses below this one are refusals. From 500 on, the fault is in the console.
REFUSED_BELOW = 500
ANSWERS_WITHIN_S = 20.0
#: All calls but the event stream, which does not end by itself.
CALLS = [each for each in ROUTES if each.path != "/api/events"]
(SUBMIT,) = (each for each in ROUTES if (each.method, each.path) == ("POST", "/api/submissions"))
#: Share of the calls that submit. Accepted submissions go on to the planner.
SUBMITS = 0.4


def heads(chance: random.Random, count: int) -> None:
    for _ in range(count):
        sent = inputs.head(chance)
        with suppress(BadHead):
            read_head(io.BufferedReader(io.BytesIO(sent)))  # type: ignore[arg-type] # typeshed wants a raw stream


def sockets(chance: random.Random, place: ListenAddress, count: int) -> None:
    """Check that each connection is answered or closed, and that the console continues."""
    for _ in range(count):
        with socket.create_connection(place, timeout=ANSWERS_WITHIN_S) as connection, suppress(OSError):
            connection.sendall(inputs.head(chance))
            connection.shutdown(socket.SHUT_WR)
            while found := connection.recv(65536):
                assert b" 500 " not in found.partition(b"\r\n")[0]


def calls(chance: random.Random, asker: Asker, count: int) -> None:
    for _ in range(count):
        route = SUBMIT if chance.random() < SUBMITS else chance.choice(CALLS)
        path, body = inputs.path(chance, route), inputs.document(chance, route.body)
        answer = asker.asks(path, method=route.method, body=body if route.method != "GET" else b"")
        assert answer.status < REFUSED_BELOW, (route.method, path, body[:500], answer.document)
        if answer.status == HTTPStatus.ACCEPTED:
            _is_shown(asker, told(answer)["submission"])
    asker.world.ledger.transact(lambda tx: app_pauses.resume(tx, ["a", "b"]))
    _goes_on(asker, f"sound{chance.randrange(2**32)}")


def _goes_on(asker: Asker, key: str) -> None:
    """Check that a sound submission after all of that is planned."""
    answer = asker.asks("/api/submissions", {"app": "a", "key": key, "rerun": "job"})
    assert answer.status == HTTPStatus.ACCEPTED, answer.document
    shown = asker.asks(f"/api/jobs/a/{key}", method="GET", body=b"")
    assert (shown.status, told(shown)["state"] in LIVE) == (HTTPStatus.OK, True), shown.document


def _is_shown(asker: Asker, id_: str) -> None:
    """Check that an accepted submission can be read, with its jobs."""
    for path in (f"/api/submissions/{quote(id_, safe='')}", "/api/submissions", "/api/jobs"):
        answer = asker.asks(path, method="GET", body=b"")
        assert answer.status == HTTPStatus.OK, (path, answer.document)


def messages(seed: int, count: int) -> None:
    for hostile in hostile_messages(seed, count):
        with suppress(BadMessage):
            codec.unseal(hostile.queue, hostile.body)


def policies(chance: random.Random, count: int) -> None:
    for _ in range(count):
        words = chance.sample([*POLICY_WORDS], chance.randrange(1, 4))
        made = {
            word: inputs.deep(chance) if chance.random() < 0.2 else inputs.value(chance) for word in words
        }
        with suppress(BadRequest):
            parse_policy(made)


def sql(chance: random.Random, world: World, count: int) -> None:
    """Check that the function accepts a document or raises, and that the session continues. All is rolled back."""
    with psycopg.connect(world.url, autocommit=True) as connection:
        for _ in range(count):
            text = inputs.document(chance).decode("utf-8", "replace").replace("\x00", "")
            with suppress(psycopg.DatabaseError), connection.transaction(force_rollback=True):
                connection.execute("SELECT sluice.submit(%s::jsonb)", (text,))
            assert connection.execute("SELECT 1").fetchone() == (1,)


def many(chances: Iterable[random.Random], asker: Asker, place: ListenAddress, count: int) -> None:
    """Check all entries, ``count`` times for each seed."""
    for chance in chances:
        heads(chance, count * 10)
        sockets(chance, place, count)
        calls(chance, asker, count)
        messages(chance.randrange(2**32), count * 5)
        policies(chance, count * 5)
        sql(chance, asker.world, count)
