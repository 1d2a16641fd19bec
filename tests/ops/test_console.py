"""The console's calls by HTTP: what each comes to, who is turned away, and what is no request."""

import http.client
import json
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from threading import Thread
from typing import Any

import pytest

from actors.client import Client
from actors.settings import Settings
from jobs.errors import BadSetting
from jobs.states import State
from jobs.submission import SubmissionState
from ops.cli.desk import Desk
from ops.cli.installation import Installation
from ops.cli.output import Output
from ops.console import server as server_module
from ops.console.answering import Answering
from ops.console.calls.routes import ROUTES
from ops.console.exchange import Answer, Request, problem
from ops.console.files import Files
from ops.console.gate import Gate
from ops.console.office import Office
from ops.console.server import BODY_BYTES_MAX, Place, Server, read_place
from ops.console.streams import Streams
from tests.ops.orders import waiting
from tests.ops.typist import Typist, ended
from tests.world import World

TOKEN = "a word that nobody guesses"
HERE = {"host": "127.0.0.1:8484", "content-type": "application/json"}


def _console(world: World, gate: Gate) -> Answering:
    """On the ledger of this world, and without definitions."""
    desk = Desk(Settings(ledger_url=world.url), Output(as_json=True), verbose=False)
    installation = Installation(desk)
    installation.ledger, installation.client = world.ledger, Client(world.ledger, world.queue.extend)
    office = Office(desk=desk, installation=installation, streams=Streams(world.ledger.transact))
    return Answering(office, gate, ROUTES, Files())


class Asker:
    """Asks without a socket."""

    def __init__(self, world: World, token: str | None = None) -> None:
        world.apps("a -> b")
        self.world = world
        self._console = _console(world, Gate(token))

    def asks(
        self,
        path: str,
        document: Any = None,
        *,
        method: str = "POST",
        body: bytes | None = None,
        **headers: str,
    ) -> Answer:
        told = {**HERE, **{name.replace("_", "-"): text for name, text in headers.items()}}
        sent = body if body is not None else b"" if document is None else json.dumps(document).encode()
        request = Request(method=method, path=path, headers=told, body=sent)
        found = self._console.answer(request)
        self.world.deliver()
        return found


def told(answer: Answer) -> Any:
    """As who reads it has it."""
    return json.loads(answer.body)


@pytest.fixture
def asker(world: World) -> Asker:
    return Asker(world)


def test_a_submission_is_taken_in_planned_and_cancelled(asker: Asker) -> None:
    said = asker.asks("/api/submissions", {"app": "b", "key": "1", "id": "one"})
    assert (said.status, told(said)) == (202, {"submission": "one", "state": "received"})
    assert asker.world.state("a") is State.READY
    said = asker.asks("/api/submissions/one/cancel")
    assert (said.status, told(said)) == (200, {"cancelled": 2})
    assert asker.world.submission("one") is SubmissionState.CANCELLED


def test_an_id_may_hold_what_a_path_does_not(asker: Asker) -> None:
    asker.asks("/api/submissions", {"app": "b", "key": "1", "id": "one/two three"})
    assert asker.asks("/api/submissions/one%2Ftwo%20three/cancel").status == HTTPStatus.OK


@pytest.mark.parametrize(
    ("path", "words", "status", "told"),
    [
        ("/api/submissions", {"app": 7}, 400, "Expected `str`"),
        ("/api/submissions", {"app": "b", "colour": "red"}, 400, "unknown field `colour`"),
        ("/api/submissions", {"app": "b", "policy": {"timeout": "soon"}}, 422, "'soon' is not a duration"),
        ("/api/submissions", {"app": "b", "compensates": "s"}, 422, "nobody asks for that"),
        ("/api/submissions", {"app": "b\0"}, 400, "NUL"),
        ("/api/submissions/none/cancel", None, 422, "There is no open submission none"),
        ("/api/submissions/none/cancel", {"now": True}, 400, "takes no words"),
        ("/api/submissions/no%00ne/cancel", None, 404, "no such call"),
        ("/api/jobs/b/9/resume", {"event": "go"}, 422, "The ledger has no job b/9"),
        ("/api/jobs/b/9/resume", {"events": "go"}, 400, "unknown field `events`"),
        ("/api/jobs/b//resume", {}, 404, "no such call"),
        ("/api/jobs/b/9/resume/", {"event": ""}, 422, "event"),
        ("/api/unknown", None, 404, "no such call"),
        ("/", None, 404, "no such call"),
    ],
)
def test_what_cannot_be_done_is_told_as_a_problem(
    path: str, words: Any, status: int, told: str, asker: Asker
) -> None:
    said = asker.asks(path, words)
    assert (said.status, said.kind) == (status, "application/problem+json")
    assert said.document["status"] == status
    assert told in said.document["detail"]


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"\xff", b"[" * 100_000], ids=["open", "list", "bytes", "deep"]
)
def test_a_body_that_is_no_document_is_refused(body: bytes, asker: Asker) -> None:
    assert asker.asks("/api/submissions", body=body).status == HTTPStatus.BAD_REQUEST


def test_a_call_of_another_method_says_which_it_is(asker: Asker) -> None:
    said = asker.asks("/api/submissions", method="DELETE")
    assert (said.status, said.headers) == (405, {"Allow": "GET, POST"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example.org:8484"}, 403),
        ({"host": ""}, 403),
        ({"host": "[::1"}, 403),
        ({"origin": "https://elsewhere.example.org"}, 403),
        ({"origin": "null"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"host": "localhost"}, 422),
        ({"host": "[::1]:8484", "origin": "http://[::1]:8484"}, 422),
        ({"content_type": "application/json; charset=utf-8"}, 422),
    ],
)
def test_pages_of_others_are_turned_away(headers: dict[str, str], status: int, asker: Asker) -> None:
    assert asker.asks("/api/submissions/none/cancel", **headers).status == status


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("", 401),
        ("Bearer", 401),
        (f"Bearer {TOKEN} or another", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer \u00fc", 401),
        (f"Bearer {TOKEN}", 422),
    ],
)
def test_with_a_token_whoever_sends_it_may_ask(sent: str, status: int, world: World) -> None:
    said = Asker(world, TOKEN).asks(
        "/api/submissions/none/cancel", host="console.example.org", authorization=sent
    )
    assert said.status == status
    assert TOKEN not in said.body.decode()


@contextmanager
def _served(world: World) -> Iterator[Place]:
    server = Server(Place("127.0.0.1", 0), _console(world, Gate(None)).answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.place
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answers(place: Place, *pieces: bytes) -> list[http.client.HTTPResponse]:
    """Send this as it is; the first answer to each piece."""
    found = []
    with socket.create_connection(place, timeout=20) as connection:
        for piece in pieces:
            connection.sendall(piece)
            response = http.client.HTTPResponse(connection)
            response.begin()
            response.read()
            found.append(response)
    return found


def _post(path: str, body: bytes = b"", *lines: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *lines]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def test_several_requests_come_on_one_connection(world: World) -> None:
    world.apps("a")
    with _served(world) as place:
        wanted = _post("/api/submissions", b'{"app": "a", "key": "1", "id": "one"}')
        found = _answers(place, wanted, _post("/api/submissions/one/cancel"), _post("/api/unknown"))
    assert [each.status for each in found] == [202, 200, 404]
    assert {each.getheader("Cache-Control") for each in found} == {"no-store"}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nothing of the kind\r\n\r\n", 400),
        (b"POST /api/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \xb2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {BODY_BYTES_MAX + 1}\r\n\r\n".encode(),
            413,
        ),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"FETCH /api/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
    ],
    ids=[
        "no request",
        "negative",
        "no digit",
        "two lengths",
        "many digits",
        "too long",
        "chunked",
        "unknown method",
        "long path",
    ],
)
def test_what_is_no_request_is_answered_and_the_next_is_seen_to(
    sent: bytes, status: int, world: World
) -> None:
    with _served(world) as place:
        assert _answers(place, sent)[0].status == status
        assert _answers(place, _post("/api/unknown"))[0].status == HTTPStatus.NOT_FOUND


def test_who_takes_too_long_to_ask_loses_his_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "REQUEST_S_MAX", 0.2)
    with _served(world) as place, socket.create_connection(place, timeout=20) as connection:
        with suppress(OSError):
            while True:
                connection.sendall(b"x")
                connection.settimeout(0.02)
                try:
                    if not connection.recv(1):
                        break
                except TimeoutError:
                    continue
        assert _answers(place, _post("/api/unknown"))[0].status == HTTPStatus.NOT_FOUND


def test_who_finds_no_place_is_told_to_come_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)
    with _served(world) as place, socket.create_connection(place, timeout=20) as first:
        first.sendall(_post("/api/unknown"))
        assert first.recv(12) == b"HTTP/1.1 404"
        (second,) = _answers(place, b"")
        assert (second.status, second.getheader("Retry-After")) == (503, "1")


@pytest.mark.parametrize("text", ["8484", ":8484", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="no place to listen at"):
        read_place(text)


def test_a_place_that_is_taken_is_told() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BadSetting, match="Nobody can listen at"),
    ):
        Server(Place("127.0.0.1", taken.getsockname()[1]), lambda _: problem(HTTPStatus.OK, "nothing"))


def test_a_saga_that_waits_is_resumed_by_http(orders: Typist) -> None:
    waiting(orders, "41")
    with orders.starts("console", "--listen", "127.0.0.1:0") as console:
        assert console.stdout
        found = re.search(r"http://127.0.0.1:(\d+)", console.stdout.readline())
        assert found
        said = _asks(
            int(found[1]), "/api/jobs/order/41/resume", {"event": "approved", "payload": {"ok": True}}
        )
        assert said == (200, {"app": "order", "key": "41", "event": "approved", "became": "resumed"})
        console.send_signal(signal.SIGTERM)
        assert ended(console).code == 0
    assert orders.types("up", "--drain").code == 0
    assert orders.asks("show", "order", "41")["state"] == "succeeded"


def test_others_may_not_ask_without_a_token(orders: Typist) -> None:
    said = orders.types("console", "--listen", "0.0.0.0:0")
    assert (said.code, "there is no token" in said.err) == (2, True)


def _asks(port: int, path: str, document: Any) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
