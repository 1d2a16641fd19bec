"""TCP proxy that breaks connections on purpose: between messages, or between a request and its reply."""

import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from enum import StrEnum
from urllib.parse import SplitResult, parse_qs, urlsplit, urlunsplit


class Break(StrEnum):
    """Moment at which a request breaks its own connection."""

    BEFORE = "before it is passed on"
    AFTER = "after it is passed on, and before its reply"


class Proxy:
    """Proxy in front of the server of ``url``. ``self.url`` is the same URL through the proxy.

    A server that is missing or has ended refuses connections through the proxy as it does without. A server that
    listens at a file (``host=/folder`` in a Postgres URL) is reached by TCP here. ``broken`` counts broken connections.
    """

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
        self._refuses = False
        self._sockets: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close every connection, as if a cable were unplugged for a moment."""
        for each in list(self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def swallow_reply_to(self, pattern: bytes) -> None:
        """Pass the next request that contains ``pattern`` to the server, and drop its reply."""
        self.end_at(pattern, Break.AFTER)

    def end_at(self, pattern: bytes, where: Break) -> None:
        """Break the connection of the next request that contains ``pattern``, at that moment."""
        self.swallowed.clear()
        self._awaited[where] = pattern

    def delay(self, seconds: float) -> None:
        """Delay all data by this many seconds in each direction. 0 ends the delay."""
        self._delay_s = seconds

    def unplug(self) -> None:
        """Close every connection, and each new one until ``plug``."""
        self.refuse()
        self.cut()

    def refuse(self) -> None:
        """Close each new connection until ``plug``."""
        self._refuses = True

    def plug(self) -> None:
        self._refuses = False

    def freeze(self) -> None:
        """Keep connections open, but pass no data."""
        self._frozen = True

    def thaw(self) -> None:
        """Pass data again. Existing connections are closed, because they have lost data."""
        self._frozen = False
        self.cut()

    def heal(self) -> None:
        """End all faults."""
        self._awaited.clear()
        self._delay_s = 0.0
        self.plug()
        if self._frozen:
            self.thaw()

    def close(self) -> None:
        """Refuse new connections, and close existing ones."""
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
            if self._refuses:
                client.close()
                continue
            server = socket.socket(self._family)
            try:
                server.connect(self._target)
            except OSError:
                server.close()
                client.close()
                continue
            for each in (client, server):
                if each.family is socket.AF_INET:
                    # Otherwise a small piece waits 40 ms for the other side's delayed acknowledgement.
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
        """Copy data in one direction. ``gone`` is set if the reply must be dropped. ``holed`` is set if the connection
        has lost data. Then it passes no more, because TCP never delivers data after a gap.
        """
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
        """Return whether the data contains the awaited pattern. A pattern matches once."""
        pattern = self._awaited.get(where)
        if pattern is None or pattern not in data or self._awaited.pop(where, None) is None:
            return False
        self.broken[where] += 1
        return True


def _target(parts: SplitResult, default_port: int) -> tuple[socket.AddressFamily, tuple[str, int] | str]:
    """Return the address family and the address of the server."""
    words = parse_qs(parts.query)
    if "host" in words:
        return socket.AF_UNIX, f"{words['host'][0]}/.s.PGSQL.{words.get('port', [default_port])[0]}"
    return socket.AF_INET, (parts.hostname or "127.0.0.1", parts.port or default_port)
