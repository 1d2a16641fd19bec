"""The sockets: requests are read within bounds, answered, and written."""

import logging
import re
import socket
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from select import select
from threading import Event, Timer
from typing import Any, NamedTuple

from jobs.errors import BadSetting
from jobs.request_limits import BYTES_MAX
from ops.console.exchange import Answer, Request, problem
from ops.console.gate import LOOPBACK
from ops.console.room import Room

_LOG = logging.getLogger("sluice.console")

#: Where it listens if nobody says.
LISTEN = "127.0.0.1:8484"
#: So many may be connected, each with a thread that mostly waits; who comes meanwhile is told to come again.
CONNECTIONS = 512
#: So many requests are seen to at once, and beside them so many may listen to what goes on.
PLACES = 32
SEATS = 128
#: A connection that says nothing for so long is given up, and one that takes so long to say all of a request.
PATIENCE_S = 10.0
REQUEST_S_MAX = 30.0
BODY_BYTES_MAX = BYTES_MAX
PORT_MAX = 65535

#: Of every answer. Whatever a user's texts hold, no script but the page's own runs in it, and nothing else frames it.
GUARDS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_COME_AGAIN = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class PlaceTaken(BadSetting):
    """Somebody else listens there, or nobody may."""


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
    # So many may stand before the door at once; of more, as of a page that asks for all its files, some would be lost.
    request_queue_size = 128

    def __init__(self, place: Place, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.room = Room(connections=CONNECTIONS, places=PLACES, seats=SEATS)
        self._is_ending = Event()
        self.address_family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        try:
            super().__init__(place, _Handler)
        except OSError as error:
            raise PlaceTaken(
                f"Nobody can listen at {place}: {error.strerror or error}.",
                advice="Give another place: --listen HOST:PORT",
            ) from None
        self.place = Place(place.host, self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.room.let_in():
            try:
                super().process_request(request, client_address)
            except RuntimeError:  # There is no thread to be had for it.
                self.room.let_out()
                raise
            return
        with suppress(OSError):
            request.sendall(_COME_AGAIN)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.room.let_out()

    def shutdown(self) -> None:
        self._is_ending.set()
        super().shutdown()

    def hold_back(self, seconds: float) -> None:
        """An answer that is to wait does so here, and keeps nobody else waiting."""
        self.room.leave_place()
        self._is_ending.wait(seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class has them
        """Whoever asked has gone, mostly."""
        _LOG.debug("A connection broke.", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = default_request_version = "HTTP/1.1"
    server_version = "Sluice"
    sys_version = ""
    timeout = PATIENCE_S
    # A body goes out behind its head at once, and not when the other side has confirmed that, 40 ms later.
    disable_nagle_algorithm = True
    rfile: BufferedReader
    server: Server

    def handle_one_request(self) -> None:
        if not self._begins():
            self.close_connection = True
            return
        with self.server.room.placed() as is_placed:
            if is_placed:
                self._handle_begun()
            else:
                self.close_connection = True
                self.wfile.write(_COME_AGAIN)

    def see_to(self) -> None:
        """Read the request, and write what it comes to."""
        body, refused = self._body()
        self._watch.cancel()
        if refused is not None:
            # What it has still to say is not listened to, so nothing else can come this way.
            self.close_connection = True
            self._write(refused)
            return
        path, _, query = self.path.partition("?")
        request = Request(
            method=self.command,
            path=path,
            query=query,
            headers={name.lower(): text for name, text in self.headers.items()},
            body=body,
            address=self.client_address[0],
        )
        answer = self.server.answer(request)
        if answer.after_s:
            self.server.hold_back(answer.after_s)
        self._give(answer)

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

    def _begins(self) -> bool:
        """Wait for the first byte of a request, which stays to be read; False where none comes."""
        try:
            return bool(self.rfile.peek(1))
        except TimeoutError:
            return False

    def _handle_begun(self) -> None:
        self._watch = Timer(REQUEST_S_MAX, self._give_up)
        self._watch.daemon = True
        self._watch.start()
        try:
            super().handle_one_request()
        finally:
            self._watch.cancel()

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

    def _give(self, answer: Answer) -> None:
        if answer.pieces is None:
            self._write(answer)
        elif not answer.is_live:
            self._pour(answer, answer.pieces)
        else:
            with self.server.room.seated() as is_seated:
                if is_seated:
                    self._pour(answer, answer.pieces)
                else:
                    again = {"Retry-After": "2"}
                    self._write(problem(HTTPStatus.SERVICE_UNAVAILABLE, "All seats are taken.", **again))

    def _write(self, answer: Answer) -> None:
        body = answer.body
        self._begin(answer)
        if answer.status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _pour(self, answer: Answer, given: Generator[bytes, None, None]) -> None:
        """Piece by piece, each with its length, so that whoever reads it can tell the end from a break. Nothing else
        comes this way after it."""
        self.close_connection = True
        is_chunked = self.request_version != "HTTP/1.0"
        self._begin(answer)
        self.send_header("Connection", "close")
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with closing(given) as pieces:
            for piece in pieces if self.command != "HEAD" else ():
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)
                elif self._is_left():
                    return
        if is_chunked and self.command != "HEAD":
            self.wfile.write(b"0\r\n\r\n")

    def _begin(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, text in ({"Cache-Control": "no-store"} | GUARDS | {**answer.headers}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", answer.kind)

    def _is_left(self) -> bool:
        """Whether whoever asked has hung up. He has nothing more to say, so anything else ends it as well."""
        return bool(select([self.connection], [], [], 0)[0])
