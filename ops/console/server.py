"""Sockets of the console: requests are read within bounds of size and time, answered, and written."""

import logging
import re
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from select import select
from typing import Any, NamedTuple

from msgspec.structs import replace

from sluice.jobs.errors import BadSetting
from sluice.ops.console.access import LOOPBACK
from sluice.ops.console.http_message import Request, Response, problem
from sluice.ops.console.limits import Room
from sluice.ops.console.request_head import BadHead, Head, Inlet, read_head

_LOG = logging.getLogger("sluice.console")

#: Default of --listen.
LISTEN = "127.0.0.1:8484"
#: Connections at the same time, each with a thread that mostly waits, and connections per address.
CONNECTIONS = 512
CONNECTIONS_OF_ONE = 256
#: Requests that are answered at the same time, and streams in addition to them.
PLACES = 32
SEATS = 128
#: Seconds that a connection may be idle, and that writing an answer may take.
PATIENCE_S = 10.0
#: Seconds for a complete head, and for a complete body. Clients send both without a pause; 1 MiB in 30 s is 35
#: kB/s.
HEAD_S_MAX = 5.0
BODY_S_MAX = 30.0
#: Seconds in which the rest of a refused request is read and discarded. Closing a connection with unread bytes
#: resets it, and the client would not see the answer.
LINGER_S_MAX = 2.0
PORT_MAX = 65535

#: Headers of every answer. Whatever users' texts contain, only the page's own scripts run, and no other page can
#: frame it.
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
    """Raised when another process uses the address, or this user may not listen there."""


class ListenAddress(NamedTuple):
    """Address to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK


def read_place(text: str) -> ListenAddress:
    """Read ``HOST:PORT``. BadSetting if the text has another form."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > PORT_MAX:
        raise BadSetting(
            f"--listen {text!r} is not an address to listen at.", advice="For example --listen 127.0.0.1:8484"
        )
    return ListenAddress(host, int(port))


class Server(ThreadingHTTPServer):
    """HTTP server of the console. Several threads call ``answer`` at the same time. ``refuse`` may answer by the head
    alone, before the body of that many bytes is read. A request that ``is_bounded`` needs no place, so that probes are
    answered while all places wait for a ledger that hangs.
    """

    daemon_threads = True
    # Greatest number of connections that wait to be accepted. Of more, as when a page loads all its files, some
    # would be lost.
    request_queue_size = 128

    def __init__(
        self,
        place: ListenAddress,
        answer: Callable[[Request], Response],
        refuse: Callable[[Request, int], Response | None] = lambda _, __: None,
        is_bounded: Callable[[Request], bool] = lambda _: False,
    ) -> None:
        self.answer = answer
        self.refuse = refuse
        self.is_bounded = is_bounded
        self.room = Room(
            connections=CONNECTIONS, connections_of_one=CONNECTIONS_OF_ONE, places=PLACES, seats=SEATS
        )
        self.address_family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        try:
            super().__init__(place, _Handler)
        except OSError as error:
            raise PlaceTaken(
                f"The console cannot listen at {place}: {error.strerror or error}.",
                advice="A running `sluice up` serves the console, too: open that address. Or use another one: --listen"
                " HOST:PORT",
            ) from None
        self.place = ListenAddress(place.host, self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.room.let_in(request, client_address[0]):
            try:
                super().process_request(request, client_address)
            except RuntimeError:  # No thread could be started for it.
                self.room.let_out(request)
                raise
            return
        with suppress(OSError):
            request.sendall(_COME_AGAIN)
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        # Before it is closed, because another connection may get its number immediately.
        self.room.let_out(request)
        super().shutdown_request(request)

    def shutdown(self) -> None:
        self.room.close()
        super().shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class has them
        """Log an exception that ended a connection: an error, unless the client or the network closed it."""
        if isinstance(sys.exception(), OSError):
            _LOG.debug("Connection lost.", exc_info=True)
        else:
            _LOG.exception("A request from %s ended in an error.", client_address[0])


class _Handler(BaseHTTPRequestHandler):
    """Handler of a connection. The base class writes answers; ``ops.console.request_head`` reads requests, because it
    is stricter.
    """

    protocol_version = request_version = "HTTP/1.1"
    server_version = "Sluice"
    sys_version = ""
    # A body is sent right after its head, and not when the client has confirmed the head, 40 ms later.
    disable_nagle_algorithm = True
    rfile: BufferedReader
    server: Server
    requestline = ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._inlet = Inlet(self.connection)
        self.rfile = BufferedReader(self._inlet)

    def handle_one_request(self) -> None:
        """Read a request, answer it, and set whether another one may follow."""
        self.close_connection, self.command = True, ""
        self.server.room.rests(self.connection)
        try:
            request = self._request() if self._begins() else None
        except BadHead as error:
            self._refuse(problem(error.status, error.detail))
        except TimeoutError:
            self._refuse(problem(HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time."))
        else:
            if request is not None and self.server.room.works(self.connection):
                self._see_to(request)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Log to the console's own log. The base class writes to stderr."""
        _LOG.debug("%s: %s", self.address_string(), format % args)

    def _begins(self) -> bool:
        """Wait for the first byte of a request; False if none comes."""
        self._inlet.within(PATIENCE_S)
        try:
            return bool(self.rfile.peek(1))
        except TimeoutError:
            return False

    def _request(self) -> Request | None:
        """Read a complete request. None if the connection ends before it does, or if the head was enough to
        refuse it.
        """
        self._inlet.within(HEAD_S_MAX)
        head = read_head(self.rfile)
        if head is None:
            return None
        self.command, self.requestline = head.method, f"{head.method} {head.target}"
        self.request_version = f"HTTP/1.{head.version[1]}"
        request = _of_head(head, self.client_address[0])
        refused = self.server.refuse(request, head.body_bytes)
        if refused is not None:
            self._refuse(refused)
            return None
        if head.body_bytes and head.expects_continue:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._inlet.within(BODY_S_MAX)
        body = self.rfile.read(head.body_bytes) if head.body_bytes else b""
        if len(body) < head.body_bytes:
            return None
        self.close_connection = not head.keeps_open
        return replace(request, body=body)

    def _see_to(self, request: Request) -> None:
        room = self.server.room
        with room.placed(is_needed=not self.server.is_bounded(request)) as is_placed:
            self.connection.settimeout(PATIENCE_S)
            if not is_placed:
                self.close_connection = True
                self.wfile.write(_COME_AGAIN)
                return
            answer = self.server.answer(request)
            if answer.pieces is not None:
                self._give_pieces(answer, answer.pieces)
                return
        # Written without a place, and as a connection that may be closed, because a client may read arbitrarily
        # slowly.
        room.rests(self.connection)
        if answer.after_s:
            room.hold_back(self.connection, answer.after_s)
        self._write(answer)

    def _refuse(self, answer: Response) -> None:
        """Answer a request that was not read to its end. No other request can follow it."""
        self.close_connection = True
        self.connection.settimeout(PATIENCE_S)
        if answer.after_s:
            self.server.room.hold_back(self.connection, answer.after_s)
        self._write(answer)
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self._inlet.within(LINGER_S_MAX)
            while self.rfile.read1():
                continue

    def _give_pieces(self, answer: Response, pieces: Generator[bytes, None, None]) -> None:
        if not answer.is_live:
            self._pour(answer, pieces)
            return
        with self.server.room.seated() as is_seated:
            if is_seated:
                self._pour(answer, pieces)
            else:
                again = {"Retry-After": "2"}
                self._write(problem(HTTPStatus.SERVICE_UNAVAILABLE, "All streams are in use.", **again))

    def _write(self, answer: Response) -> None:
        body = answer.body
        self._begin(answer)
        if answer.status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _pour(self, answer: Response, given: Generator[bytes, None, None]) -> None:
        """Write the pieces, each with its length, so that the client can distinguish the end from a break. The
        connection cannot be used for another request.
        """
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

    def _begin(self, answer: Response) -> None:
        self.send_response(answer.status)
        for name, text in ({"Cache-Control": "no-store"} | GUARDS | {**answer.headers}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", answer.kind)

    def _is_left(self) -> bool:
        """Return whether the client has closed the connection. It has nothing more to send, so any bytes also end the
        stream.
        """
        return bool(select([self.connection], [], [], 0)[0])


def _of_head(head: Head, address: str) -> Request:
    path, _, query = head.target.partition("?")
    return Request(method=head.method, path=path, query=query, headers=head.headers, address=address)
