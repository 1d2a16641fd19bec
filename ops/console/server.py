"""The sockets: requests are read within bounds, answered, and written."""

import logging
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Timer
from typing import Any, NamedTuple

from jobs.errors import BadSetting
from ops.console.exchange import Answer, Request, problem
from ops.console.gate import LOOPBACK

_LOG = logging.getLogger("sluice.console")

#: So many connections are seen to at once; who comes meanwhile is told to come again.
PLACES = 32
#: A connection that says nothing for so long is given up, and one that takes so long to say all of a request.
PATIENCE_S = 10.0
REQUEST_S_MAX = 30.0
BODY_BYTES_MAX = 1024 * 1024
PORT_MAX = 65535


_COME_AGAIN = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class Place(NamedTuple):
    """Where it listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK


def read_place(text: str) -> Place:
    """BadSetting for what is no ``HOST:PORT``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > PORT_MAX:
        raise BadSetting(
            f"--listen {text!r} is no place to listen at.", advice="For example --listen 127.0.0.1:8484"
        )
    return Place(host, int(port))


class Server(ThreadingHTTPServer):
    """``answer`` is called by several threads at once."""

    daemon_threads = True

    def __init__(self, place: Place, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self._places = BoundedSemaphore(PLACES)
        self.address_family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        try:
            super().__init__(place, _Handler)
        except OSError as error:
            raise BadSetting(
                f"Nobody can listen at {place}: {error.strerror or error}.",
                advice="Give another place: --listen HOST:PORT",
            ) from None
        self.place = Place(place.host, self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.sendall(_COME_AGAIN)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class has them
        """Whoever asked has gone, mostly."""
        _LOG.debug("A connection broke.", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = default_request_version = "HTTP/1.1"
    server_version = "Sluice"
    sys_version = ""
    timeout = PATIENCE_S
    server: Server

    def handle_one_request(self) -> None:
        self._watch = Timer(REQUEST_S_MAX, self._give_up)
        self._watch.daemon = True
        self._watch.start()
        try:
            super().handle_one_request()
        finally:
            self._watch.cancel()

    def see_to(self) -> None:
        """Read the request, and write what it comes to."""
        body, refused = self._body()
        self._watch.cancel()
        if refused is not None:
            # What it has still to say is not listened to, so nothing else can come this way.
            self.close_connection = True
            self._write(refused)
            return
        headers = {name.lower(): text for name, text in self.headers.items()}
        path = self.path.partition("?")[0]
        self._write(self.server.answer(Request(method=self.command, path=path, headers=headers, body=body)))

    def __getattr__(self, name: str) -> Callable[[], None]:
        """The base class looks for a method of each name; here all are answered in the same way."""
        if name.startswith("do_"):
            return self.see_to
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class could not read."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._write(problem(status, message or explain or status.description))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """By our own log; who asks has a place there, and no more."""
        _LOG.debug("%s: %s", self.address_string(), format % args)

    def _give_up(self) -> None:
        """Whoever sends a byte now and then would keep a place for ever."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _body(self) -> tuple[bytes, Answer | None]:
        if "transfer-encoding" in self.headers:
            return b"", problem(HTTPStatus.LENGTH_REQUIRED, "A body has to say how long it is.")
        text, *more = self.headers.get_all("content-length", ["0"])
        if more or not re.fullmatch("[0-9]{1,18}", text):
            return b"", problem(HTTPStatus.BAD_REQUEST, "Its length is no number.")
        if int(text) > BODY_BYTES_MAX:
            return b"", problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has {BODY_BYTES_MAX} bytes at the most."
            )
        return self.rfile.read(int(text)), None

    def _write(self, answer: Answer) -> None:
        body = answer.body
        self.send_response(answer.status)
        for name, text in answer.headers.items():
            self.send_header(name, text)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
