"""A TCP proxy that breaks connections on purpose: between messages, or between a request and its reply."""

import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from enum import StrEnum
from urllib.parse import SplitResult, parse_qs, urlsplit, urlunsplit


class Break(StrEnum):
    """Where a request ends the connection that it comes by."""

    BEFORE = "before it is passed on"
    AFTER = "after it is passed on, and before its reply"


class Proxy:
    """Stands before the server of ``url``; ``self.url`` is the same URL through it. A server that is not there, or not
    any more, refuses through the proxy as it would without. One that listens at a file, as ``host=/folder`` in the URL
    of a Postgres says, is had by TCP here. ``broken`` counts what was done."""

    def __init__(self, url: str, *, default_port: int) -> None:
        parts = urlsplit(url)
        self._family, self._target = _target(parts, default_port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        userinfo, at, _ = parts.netloc.rpartition("@")
        place = f"{userinfo}{at}127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = urlunsplit(parts._replace(netloc=place, query="" if self._at_a_file else parts.query))
        self.swallowed = threading.Event()
        self.broken: Counter[Break] = Counter()
        self._awaited: dict[Break, bytes] = {}
        self._delay_s = 0.0
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
        self.end_at(pattern, Break.AFTER)

    def end_at(self, pattern: bytes, where: Break) -> None:
        """The connection of the next request with ``pattern`` in it dies there."""
        self.swallowed.clear()
        self._awaited[where] = pattern

    def delay(self, seconds: float) -> None:
        """From now on whatever passes takes so much longer, each way; nothing, to end that."""
        self._delay_s = seconds

    def freeze(self) -> None:
        """Connections stay, and nothing passes any more."""
        self._frozen = True

    def thaw(self) -> None:
        """All is as it was, but for the connections: what they lost meanwhile makes them useless, so they die."""
        self._frozen = False
        self.cut()

    def heal(self) -> None:
        """Nothing goes wrong from now on."""
        self._awaited.clear()
        self._delay_s = 0.0
        if self._frozen:
            self.thaw()

    def close(self) -> None:
        """Refuses from now on; what is connected is cut."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    @property
    def _at_a_file(self) -> bool:
        return self._family is socket.AF_UNIX

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(self._family)
            try:
                server.connect(self._target)
            except OSError:
                server.close()
                client.close()
                continue
            for each in (client, server):
                if each.family is socket.AF_INET:
                    # Else a small piece waits for the other side's delayed acknowledgement: 40 ms.
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets |= {client, server}
            gone, holed = threading.Event(), threading.Event()
            for source, sink in ((client, server), (server, client)):
                arguments = (source, sink, gone, holed, source is client)
                threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    def _pump(
        self,
        source: socket.socket,
        sink: socket.socket,
        gone: threading.Event,
        holed: threading.Event,
        is_request: bool,
    ) -> None:
        """``gone`` says that the reply is not to come back; ``holed`` that something has been lost on this connection,
        by which nothing passes any more: TCP never delivers what comes after a gap."""
        with suppress(OSError):
            while data := source.recv(65536):
                if is_request and self._comes(Break.BEFORE, data):
                    break
                if is_request and self._comes(Break.AFTER, data):
                    gone.set()
                if gone.is_set() and not is_request:
                    self.swallowed.set()
                    break
                if self._delay_s:
                    time.sleep(self._delay_s)
                if self._frozen:
                    holed.set()
                elif holed.is_set():
                    break
                else:
                    sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            self._sockets.discard(each)
            each.close()

    def _comes(self, where: Break, data: bytes) -> bool:
        """Whether this is what was waited for, which is so once."""
        pattern = self._awaited.get(where)
        if pattern is None or pattern not in data or self._awaited.pop(where, None) is None:
            return False
        self.broken[where] += 1
        return True


def _target(parts: SplitResult, default_port: int) -> tuple[socket.AddressFamily, tuple[str, int] | str]:
    """Where the server listens."""
    words = parse_qs(parts.query)
    if "host" in words:
        return socket.AF_UNIX, f"{words['host'][0]}/.s.PGSQL.{words.get('port', [default_port])[0]}"
    return socket.AF_INET, (parts.hostname or "127.0.0.1", parts.port or default_port)
