"""The console's sockets: what is no request, who takes too long, and who finds no place."""

import http.client
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from select import select
from threading import Thread

import pytest

from jobs.errors import BadSetting
from ops.console import server as server_module
from ops.console.exchange import Answer, Request, problem
from ops.console.gate import Gate
from ops.console.server import BODY_BYTES_MAX, Place, Server, read_place
from tests.ops.asker import console_of
from tests.world import World


@contextmanager
def _served(world: World) -> Iterator[Place]:
    with _serving(console_of(world, Gate(None)).answer) as place:
        yield place


@contextmanager
def _serving(answer: Callable[[Request], Answer]) -> Iterator[Place]:
    server = Server(Place("127.0.0.1", 0), answer)
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
        first.sendall(_post("/api/unknown")[:1])
        (second,) = _answers(place, _post("/api/unknown"))
        assert (second.status, second.getheader("Retry-After")) == (503, "1")
        first.sendall(_post("/api/unknown")[1:])
        assert first.recv(12) == b"HTTP/1.1 404"
        assert _answers(place, _post("/api/unknown"))[0].status == 404


def test_a_connection_without_a_request_takes_nobodys_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_who_finds_no_room_to_be_connected_is_told_to_come_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 1)
    with _served(world) as place:
        with socket.create_connection(place, timeout=20) as first:
            first.sendall(_post("/api/unknown"))
            assert first.recv(12) == b"HTTP/1.1 404"
            (second,) = _answers(place, b"")
            assert (second.status, second.getheader("Retry-After")) == (503, "1")
        while _answers(place, _post("/api/unknown"))[0].status == 503:
            continue


def test_an_answer_that_is_held_back_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)

    def answer(request: Request) -> Answer:
        return Answer(document=request.path, after_s=3600.0 if request.path == "/late" else 0.0)

    with ExitStack() as opened:
        with _serving(answer) as place:
            late = opened.enter_context(socket.create_connection(place, timeout=20))
            late.sendall(_post("/late"))
            # Its place is free again, so it has been asked, and is held back, by now.
            assert _answers(place, _post("/soon"))[0].status == 200
            assert select([late], [], [], 0) == ([], [], [])
        assert late.recv(12) == b"HTTP/1.1 200", "it is held back no longer than there is a console"


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
