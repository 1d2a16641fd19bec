"""Programs from web servers, by HTTP and HTTPS.

A ``Wire`` is a connection on which no wait exceeds its patience, even if the peer is slow or silent.
"""

import base64
import errno
import http.client
import io
import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from sluice.jobs.programs.errors import Away, Unfit, one_line, reason_of
from sluice.jobs.programs.fetch.allowed_hosts import PROGRAM_HOSTS, addresses_of, check_address
from sluice.jobs.programs.fetch.download import DownloadFile, Patience
from sluice.jobs.programs.program_cache import Fetched, SourceMark
from sluice.jobs.programs.source import Rules, Source

REDIRECTS_MAX: Final = 5
CHUNK_BYTES: Final = 64 * 1024
SETTLED_S: Final = 2.0
#: Status codes of temporary errors of the server. An earlier version of the program may be used.
PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED: Final = 304


class _Hop:
    """One request on the way to the file. Only the source's own server gets the source's user and password."""

    def __init__(self, url: SplitResult, user: str) -> None:
        self.url = url
        self.user = user

    @property
    def place(self) -> str:
        """The URL that a mark belongs to, without the query, which may have a new signature each time."""
        host, port = self.url.hostname or "", self.url.port
        return f"{self.url.scheme}://{host}{f':{port}' if port else ''}{self.url.path}"

    def next(self, location: str | None) -> "_Hop":
        here = self.url._replace(
            netloc=self.url.netloc.rpartition("@")[2]
        )  # The location is joined to it unchanged.
        target = None if location is None else _split(here.geturl(), location)
        if target is None:
            raise Unfit("it is redirected to an address that is neither http nor https")
        if here.scheme == "https" and target.scheme == "http":
            raise Unfit("it is redirected from https to http, where the transfer can be tampered with")
        same = (target.scheme, target.netloc) == (here.scheme, here.netloc)
        return _Hop(target, self.user if same else "")


def fetch_from_web(
    source: Source, into: Path, known: SourceMark | None, rules: Rules, patience: Patience
) -> Fetched | None:
    """Write the content of the URL into the file. None if the server reports no change since ``known``.

    Away if the server cannot be reached or has a temporary error. Unfit if it answers that the file does not exist.
    """
    url = urlsplit(source.place)
    hop = _Hop(url, url.netloc.rpartition("@")[0])
    for _ in range(REDIRECTS_MAX + 1):
        with _answer(hop, known, rules, patience) as answer:
            if answer.status == _NOT_MODIFIED and known is not None:
                return None
            if answer.status in _REDIRECTS:
                hop = hop.next(answer.getheader("Location"))
                continue
            if answer.status != HTTPStatus.OK:
                raise (Away if answer.status in PASSING else Unfit)(_status(answer))
            digest = _save(answer, into, rules, patience)
            return Fetched(path=into, sha256=digest, mark=_mark(answer, hop.place))
    raise Unfit(f"it is redirected more than {REDIRECTS_MAX} times")


class WebRequest(NamedTuple):
    """Request to a web server. ``hosts`` are the hosts that may have any address, from this ``setting``."""

    url: SplitResult
    headers: Mapping[str, str]
    hosts: tuple[str, ...]
    setting: str = PROGRAM_HOSTS
    method: str = "GET"
    body: bytes | None = None


def _answer(
    hop: _Hop, known: SourceMark | None, rules: Rules, patience: Patience
) -> AbstractContextManager[http.client.HTTPResponse]:
    return exchange(WebRequest(hop.url, _headers(hop, known), rules.hosts), patience)


@contextmanager
def exchange(request: WebRequest, patience: Patience) -> Iterator[http.client.HTTPResponse]:
    """Send the request, and yield the answer. Redirects are not followed.

    Away if the server cannot be reached. Unfit if it must not be reached or cannot be trusted.
    """
    url = request.url
    host = (url.hostname or "").rstrip(".").encode("idna").decode()
    port = url.port or (443 if url.scheme == "https" else 80)
    connection = http.client.HTTPConnection(host, port)
    wire = connect(host, port, request.hosts, patience, request.setting)
    try:
        if url.scheme == "https":
            wire.encrypt(host, ssl.create_default_context())
        connection.sock = wire  # A wire has all methods that it calls on a socket.
        target = quote(url.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{_query(url)}" if url.query else "")
        headers = {**_common_headers(url, host, port), **request.headers}
        connection.request(request.method, target, request.body, headers)
        yield connection.getresponse()
    except ssl.SSLCertVerificationError as error:
        raise Unfit(f"the host {host} cannot be trusted: {one_line(error.verify_message)}") from None
    except http.client.HTTPException as error:
        raise Away(f"the host {host} does not speak HTTP: {type(error).__name__}") from None
    except OSError as error:
        raise Away(f"the connection to {host} was lost: {reason_of(error)}") from None
    finally:
        connection.close()
        wire.cut()


def _common_headers(url: SplitResult, host: str, port: int) -> dict[str, str]:
    bare = f"[{host}]" if ":" in host else host
    usual = port == (443 if url.scheme == "https" else 80)
    return {
        "Host": bare if usual else f"{bare}:{port}",
        "User-Agent": "sluice",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def _headers(hop: _Hop, known: SourceMark | None) -> dict[str, str]:
    headers = {}
    if hop.user:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(hop.user).encode()).decode()
    if known is not None and known.url == hop.place:
        if known.etag:
            headers["If-None-Match"] = known.etag
        elif known.modified:
            headers["If-Modified-Since"] = known.modified
    return headers


def _save(answer: http.client.HTTPResponse, into: Path, rules: Rules, patience: Patience) -> str:
    """Save the content and return its sha256. All received bytes are counted, whatever length the server announces."""
    announced = answer.length
    if announced is not None and announced > rules.bytes_max:
        raise Unfit(f"it has {announced} bytes, more than the {rules.bytes_max} that are allowed")
    with DownloadFile(into, rules.bytes_max) as spool:
        while chunk := answer.read1(CHUNK_BYTES):
            patience.check()
            spool.add(chunk)
    if announced is not None and spool.size < announced:
        raise Away(f"the connection ended after {spool.size} of {announced} bytes")
    return spool.sha256


def _mark(answer: http.client.HTTPResponse, url: str) -> SourceMark:
    """Return the mark. A modification date without an ETag has whole seconds, so a recent one may hide another
    change.
    """
    etag, modified = (_plain(answer.getheader(name)) for name in ("ETag", "Last-Modified"))
    try:
        age = parsedate_to_datetime(answer.getheader("Date") or "") - parsedate_to_datetime(modified)
        settled = age.total_seconds() >= SETTLED_S
    except (ValueError, TypeError, IndexError, OverflowError):
        settled = False
    return SourceMark(etag=etag, modified=modified if settled else "", url=url)


def _plain(text: str | None) -> str:
    """Return a header that can be sent back unchanged. Empty if it is missing or has other characters."""
    return text if text is not None and text.isascii() and text.isprintable() else ""


def _split(here: str, location: str) -> SplitResult | None:
    """Return the target of a redirect, or None if it is no usable URL. The header's bytes arrive decoded as Latin-1."""
    try:
        text = urljoin(here, location.encode("latin-1", "replace").decode("utf-8", "replace"))
        url = urlsplit(text)
        (url.hostname or "").encode("idna")
        usable = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return None
    return url if usable and text.isprintable() else None


def _query(url: SplitResult) -> str:
    return quote(url.query, safe="/%:@!$&'()*+,;=~-._?[]")


def _status(answer: http.client.HTTPResponse) -> str:
    try:
        return f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:
        return one_line(f"{answer.status} {answer.reason}", 80)


T = TypeVar("T")
#: Seconds to wait for an address before the next one is tried.
CONNECT_S: Final = 10.0

Buffer: TypeAlias = bytearray | memoryview


class Wire:
    """The socket methods that ``http.client`` needs. Each wait checks the patience, so a slow peer cannot exceed it."""

    def __init__(self, connection: socket.socket, patience: Patience) -> None:
        self._socket = connection
        self._patience = patience

    def receive(self, buffer: Buffer) -> int:
        return self._until_done(lambda: self._socket.recv_into(buffer))

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._until_done(partial(self._socket.send, view)) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Received(self))

    def encrypt(self, host: str, context: ssl.SSLContext) -> None:
        wrapped = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
        self._socket = wrapped
        self._until_done(wrapped.do_handshake)

    def close(self) -> None:
        """Do nothing. ``http.client`` calls this before the response is read. The caller of ``connect`` must call
        ``cut``.
        """

    def cut(self) -> None:
        self._socket.close()

    def _until_done(self, act: Callable[[], T]) -> T:
        while True:
            wait_s = self._patience.look_s()
            try:
                return act()
            except (ssl.SSLWantReadError, BlockingIOError):
                _wait(self._socket, select.POLLIN, wait_s)
            except ssl.SSLWantWriteError:
                _wait(self._socket, select.POLLOUT, wait_s)


class _Received(io.RawIOBase):
    """Received bytes of a wire, as a file."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # as wide as its parent has it
        return self._wire.receive(buffer)


def connect(
    host: str, port: int, hosts: tuple[str, ...], patience: Patience, setting: str = PROGRAM_HOSTS
) -> Wire:
    """Connect to the first address of the host that answers. Only checked addresses are tried.

    The addresses are resolved once and connected to as numbers, so a name that changes a moment later has no effect.
    Away if no address answers.
    """
    why = "it has no address"
    for family, address in addresses_of(host, port, hosts, patience, setting):
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # A machine without IPv6 may still get IPv6 addresses.
            why = reason_of(error)
            continue
        try:
            connection.settimeout(0)
            _reach(connection, address, port, patience)
            check_address(host, str(connection.getpeername()[0]), hosts, setting)
            return Wire(connection, patience)
        except OSError as error:
            connection.close()
            why = reason_of(error)
        except BaseException:
            connection.close()
            raise
    raise Away(f"the host {host} does not answer: {why}")


def _reach(connection: socket.socket, address: str, port: int, patience: Patience) -> None:
    try:
        connection.connect((address, port))
    except BlockingIOError:
        until = time.monotonic() + CONNECT_S
        while not _wait(connection, select.POLLOUT, patience.look_s()):
            if time.monotonic() >= until:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)) from None
    error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def _wait(connection: socket.socket, event: int, wait_s: float) -> bool:
    """Wait for the event and return whether it happened. ``select`` refuses descriptors above a thousand."""
    poll = select.poll()
    poll.register(connection, event)
    return bool(poll.poll(1000 * wait_s))
