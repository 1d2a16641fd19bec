"""A TCP proxy that breaks connections on purpose: between messages, or between a request and its reply."""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit


class Proxy:
    """Stands before the server of ``url``; ``self.url`` is the same URL through it."""

    def __init__(self, url: str, *, default_port: int) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or default_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        userinfo, at, _ = parts.netloc.rpartition("@")
        place = f"{userinfo}{at}127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = urlunsplit(parts._replace(netloc=place))
        self.swallowed = threading.Event()
        self._pattern: bytes | None = None
        self._frozen = False
        self._sockets: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Every connection dies, as when a cable is pulled for a moment."""
        for each in list(self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def swallow_reply_to(self, pattern: bytes) -> None:
        """The next request with ``pattern`` in it reaches the server; its reply does not come back."""
        self.swallowed.clear()
        self._pattern = pattern

    def freeze(self) -> None:
        """Connections stay, and nothing passes any more."""
        self._frozen = True

    def close(self) -> None:
        """Refuses from now on; what is connected is cut."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for each in (client, server):
                # Else a small piece waits for the other side's delayed acknowledgement: 40 ms.
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets |= {client, server}
            gone = threading.Event()
            for source, sink in ((client, server), (server, client)):
                arguments = (source, sink, gone, source is client)
                threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    def _pump(
        self, source: socket.socket, sink: socket.socket, gone: threading.Event, is_request: bool
    ) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_request and self._pattern is not None and self._pattern in data:
                    self._pattern = None
                    gone.set()
                if gone.is_set() and not is_request:
                    self.swallowed.set()
                    break
                if not self._frozen:
                    sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            self._sockets.discard(each)
            each.close()
