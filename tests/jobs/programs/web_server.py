"""Web server on the loopback interface. Tests set its replies."""

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple

from sluice.jobs.programs.fetch.download import LOOK_S


class Reply(NamedTuple):
    """Reply of the server. ``then`` is called with the handler after the content, for example to delay the end."""

    content: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    then: Callable[["Handler"], None] | None = None
    length: int | None = None


class Asked(NamedTuple):
    """Request that the server received."""

    path: str
    headers: dict[str, str]


class Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
        reply = owner.reply(self.path, self.headers.get("If-None-Match"))
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        length = len(reply.content) if reply.length is None else reply.length
        if length >= 0 and reply.status != 304:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(reply.content)
        if reply.then is not None:
            self.wfile.flush()
            reply.then(self)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: "WebServer"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error, because a client may close its connection early."""


class WebServer:
    """Web server with ``replies`` by path. ``asked`` contains all requests. Hanging replies end with the server."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self._tls = tls
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def put(self, path: str, content: bytes = b"", **words: object) -> str:
        self.replies[path] = Reply(content, **words)  # type: ignore[arg-type] # the fields of a reply
        return f"{self.url}{path}"

    def reply(self, path: str, etag: str | None) -> Reply:
        found = self.replies.get(path) or self.replies.get(path.partition("?")[0])
        if found is None:
            return Reply(status=404)
        return Reply(status=304) if etag is not None and ("ETag", etag) in found.headers else found

    def hang(self, _handler: Handler) -> None:
        self.closing.wait()

    def drip(self, handler: Handler) -> None:
        while not self.closing.wait(LOOK_S / 2):
            handler.wfile.write(b"\0")
            handler.wfile.flush()

    def __enter__(self) -> "WebServer":
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
