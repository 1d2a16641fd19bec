"""The sockets of the console: malformed requests, slow clients, and more clients than the limits allow."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from select import select
from threading import Event

import pytest

from sluice.jobs.errors import BadSetting
from sluice.jobs.model.request_limits import BYTES_MAX
from sluice.ops.console import server as server_module
from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request, Response, problem
from sluice.ops.console.server import ListenAddress, Server, read_place
from tests.ops.console_client import TOKEN, console_of, serving
from tests.world import World

_RIGHT = f"Authorization: Bearer {TOKEN}"


@contextmanager
def _served(world: World) -> Iterator[ListenAddress]:
    with serving(console_of(world, AccessControl(TOKEN)).answer) as place:
        yield place


def _answers(place: ListenAddress, *pieces: bytes) -> list[http.client.HTTPResponse]:
    """Send these pieces unchanged, and return the first answer to each."""
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
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", _RIGHT, *lines]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def test_one_connection_may_carry_several_requests(world: World) -> None:
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
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {BYTES_MAX + 1}\r\n\r\n".encode(),
            413,
        ),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (f"FETCH /api/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\n{_RIGHT}\r\n\r\n".encode(), 405),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length : 5\r\n\r\nGET /", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nno colon\r\nAuthorization: Bearer x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: 1\rX-Forwarded-For: 192.0.2.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: 1\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\nX: 1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: \x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 150 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nX: " + b"1" * 70_000 + b"\r\n\r\n", 431),
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
        "space before a colon",
        "no colon",
        "bare CR",
        "folded line",
        "two hosts",
        "bare LF",
        "NUL",
        "no host",
        "HTTP/2",
        "many headers",
        "long header",
    ],
)
def test_a_malformed_request_is_answered_and_the_next_one_works(
    sent: bytes, status: int, world: World
) -> None:
    with _served(world) as place:
        assert _answers(place, sent)[0].status == status
        assert _answers(place, _post("/api/unknown"))[0].status == HTTPStatus.NOT_FOUND


def test_a_head_that_arrives_byte_by_byte_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HEAD_S_MAX", 0.2)
    with _served(world) as place, socket.create_connection(place, timeout=20) as connection:
        found = b""
        with suppress(OSError):
            while not found:
                connection.sendall(b"x")
                connection.settimeout(0.02)
                with suppress(TimeoutError):
                    found = connection.recv(12)
        assert found in (b"HTTP/1.1 408", b"")
        assert _answers(place, _post("/api/unknown"))[0].status == HTTPStatus.NOT_FOUND


def test_a_request_without_a_place_gets_503_with_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)
    began, may_end = Event(), Event()

    def answer(request: Request) -> Response:
        if request.path == "/long":
            began.set()
            may_end.wait(20)
        return Response(document=request.path)

    with serving(answer) as place, socket.create_connection(place, timeout=20) as first:
        first.sendall(_post("/long"))
        assert began.wait(20)
        (second,) = _answers(place, _post("/short"))
        assert (second.status, second.getheader("Retry-After")) == (503, "1")
        may_end.set()
        assert first.recv(12) == b"HTTP/1.1 200"
        assert _answers(place, _post("/short"))[0].status == 200


@pytest.mark.parametrize("begun", [_post("/api/unknown")[:9], _post("/api/unknown", b"{}")[:-1]])
def test_incomplete_requests_take_no_place(
    begun: bytes, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)
    with _served(world) as place, ExitStack() as opened:
        for _ in range(4):
            opened.enter_context(socket.create_connection(place, timeout=20)).sendall(begun)
        assert _answers(place, _post("/api/unknown"))[0].status == 404


@pytest.mark.parametrize("bound", ["CONNECTIONS", "CONNECTIONS_OF_ONE"])
def test_slow_connections_are_closed_in_favour_of_complete_requests(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, bound, 3)
    with serving(lambda _: Response(document="right")) as place, ExitStack() as opened:
        slow = [opened.enter_context(socket.create_connection(place, timeout=20)) for _ in range(3)]
        for each in slow:
            each.sendall(b"GET / HT")
        for _ in range(3):
            assert _answers(place, _post("/api/demand"))[0].status == 200
        assert slow[0].recv(1) == b"", "the oldest slow connection was closed"


def test_delayed_answers_displace_no_right_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 3)

    def answer(request: Request) -> Response:
        return Response(document="", after_s=3600.0 if request.path == "/wrong" else 0.0)

    with serving(answer) as place, ExitStack() as opened:
        for _ in range(6):
            opened.enter_context(socket.create_connection(place, timeout=20)).sendall(_post("/wrong"))
        assert [_answers(place, _post("/right"))[0].status for _ in range(6)] == [200] * 6


def test_an_answer_that_is_read_slowly_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)
    large = "x" * 20_000_000
    with (
        serving(lambda request: Response(document=large if request.path == "/large" else "")) as place,
        socket.create_connection(place, timeout=20) as slow,
    ):
        slow.sendall(_post("/large"))
        assert slow.recv(12) == b"HTTP/1.1 200"
        assert _answers(place, _post("/small"))[0].status == 200


def test_a_large_body_is_not_read_before_the_token_is_checked(world: World) -> None:
    answering = console_of(world, AccessControl(TOKEN))
    known = _post("/api/submissions", b"x" * 100_000)
    head = known[:-100_000].replace(_RIGHT.encode(), b"X: 1")
    with serving(answering.answer, answering.refuse) as place:
        assert _answers(place, head)[0].status == 401
        assert _answers(place, known)[0].status == 400


def test_a_client_that_expects_100_continue_gets_it(world: World) -> None:
    with _served(world) as place, socket.create_connection(place, timeout=20) as connection:
        whole = _post("/api/unknown", b"{}", "Expect: 100-continue")
        connection.sendall(whole[:-2])
        assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(whole[-2:])
        assert connection.recv(12) == b"HTTP/1.1 404"


def test_a_connection_without_a_request_takes_no_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)
    with _served(world) as place, ExitStack() as opened:
        silent = [opened.enter_context(socket.create_connection(place, timeout=20)) for _ in range(4)]
        for each in silent[:2]:
            each.sendall(_post("/api/unknown"))
            response = http.client.HTTPResponse(each)
            response.begin()
            response.read()
            assert response.status == 404
        assert _answers(place, _post("/api/unknown"), _post("/api/unknown"))[1].status == 404


def test_a_connection_above_the_limit_gets_503_with_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 1)
    began, may_end = Event(), Event()

    def answer(request: Request) -> Response:
        began.set()
        may_end.wait(20)
        return Response(document=request.path)

    with serving(answer) as place, socket.create_connection(place, timeout=20) as first:
        first.sendall(_post("/"))
        assert began.wait(20)
        (second,) = _answers(place, b"")
        assert (second.status, second.getheader("Retry-After")) == (503, "1")
        may_end.set()
        assert first.recv(12) == b"HTTP/1.1 200"
        assert _answers(place, _post("/"))[0].status == 200, "a connection without a request makes way"


def test_a_delayed_answer_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)

    def answer(request: Request) -> Response:
        return Response(document=request.path, after_s=3600.0 if request.path == "/late" else 0.0)

    with ExitStack() as opened:
        with serving(answer) as place:
            late = opened.enter_context(socket.create_connection(place, timeout=20))
            late.sendall(_post("/late"))
            # The place is free again, so the delayed answer has been made by now.
            assert _answers(place, _post("/soon"))[0].status == 200
            assert select([late], [], [], 0) == ([], [], [])
        assert late.recv(12) == b"HTTP/1.1 200", "it is held back no longer than there is a console"


@pytest.mark.parametrize("text", ["8484", ":8484", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="not an address to listen at"):
        read_place(text)


def test_an_address_in_use_is_reported() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BadSetting, match="The console cannot listen at") as refused,
    ):
        Server(
            ListenAddress("127.0.0.1", taken.getsockname()[1]), lambda _: problem(HTTPStatus.OK, "nothing")
        )
    assert "`sluice up` serves the console, too" in refused.value.advice
