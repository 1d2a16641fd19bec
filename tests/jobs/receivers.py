"""HTTP servers on loopback that receive events, and answer as a test wants."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Answers to a request: its number, from 0, and its body are passed; the status and the headers are returned.
Answer = Callable[[int], tuple[int, dict[str, str]]]


class HttpReceiver:
    """Receiver with the requests that it got. ``hangs`` is set while it answers nothing."""

    def __init__(self, answer: Answer) -> None:
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.arrived = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.port = 0
        self._answer = answer
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def answer(self, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(json.loads(body) if body else None)
            self.headers.append(headers)
        self.arrived.release()
        self.goes_on.wait()
        return self._answer(number)


def accepts(_: int) -> tuple[int, dict[str, str]]:
    return 200, {}


@contextmanager
def receiving(answer: Answer = accepts) -> Iterator[HttpReceiver]:
    """Run a receiver."""
    receiver = HttpReceiver(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            if len(body) < length:  # Its sender was killed.
                self.close_connection = True
                return
            status, headers = receiver.answer(body, dict(self.headers))
            self.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.goes_on.set()
            server.shutdown()
            thread.join()
