"""HTTP server that accepts posts, in place of a server to which Sluice sends data."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Post(NamedTuple):
    """One post. ``headers`` are found under any spelling of their names."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@contextmanager
def receiving(take: Callable[[Post], HTTPStatus]) -> Iterator[str]:
    """Yield the URL of a server.

    ``take`` returns the status of each answer; it may be called by several threads at once.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(take(Post(self.path, self.headers, body)))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
