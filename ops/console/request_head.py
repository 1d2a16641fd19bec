"""Reader of the head of an HTTP/1.1 request, as strict as RFC 9112 allows.

Two servers on the way must not read the same bytes as different requests. So a head that another server could read
in another way is refused, not repaired: a space before a colon, a line without a colon, a folded line, a bare CR or
LF, two lengths, two hosts.
"""

import re
import socket
import time
from collections.abc import Mapping
from http import HTTPStatus
from io import BufferedIOBase, RawIOBase
from typing import Any

from msgspec import Struct

from sluice.jobs.model.request_limits import BYTES_MAX

#: Bytes of one line, and of all lines after the first: browsers send less than 8 KiB, cookies included.
LINE_BYTES_MAX = HEAD_BYTES_MAX = 64 * 1024
HEADERS_MAX = 100

_REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) (/[!-~]*) HTTP/([0-9])\.([0-9])")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)")
_LENGTH = re.compile("[0-9]{1,18}")
#: Headers that may occur once. One server would read a second value, and the next server would ignore it.
_SINGLE = frozenset({"authorization", "content-length", "content-type", "host", "origin"})


class BadHead(Exception):
    """Raised when the head is not valid HTTP/1.1, or announces a body that is not accepted."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Inlet(RawIOBase):
    """Bytes of a connection until a deadline, however slowly they arrive. Raises TimeoutError after it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = 0.0

    def within(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._connection.settimeout(left_s)
        return self._connection.recv_into(buffer)


class Head(Struct, frozen=True, kw_only=True):
    """Head of a request. Names of ``headers`` are in lower case. ``body_bytes`` is the length of the body that
    follows.
    """

    method: str
    target: str
    version: tuple[int, int]
    headers: Mapping[str, str]
    body_bytes: int

    @property
    def keeps_open(self) -> bool:
        """True if the client may send another request on this connection."""
        options = {each.strip().lower() for each in self.headers.get("connection", "").split(",")}
        return self.version >= (1, 1) and "close" not in options

    @property
    def expects_continue(self) -> bool:
        return self.version >= (1, 1) and self.headers.get("expect", "").strip().lower() == "100-continue"


def read_head(file: BufferedIOBase) -> Head | None:
    """Read up to the empty line. None if the connection ends before it."""
    line = _line(file, LINE_BYTES_MAX, HTTPStatus.REQUEST_URI_TOO_LONG)
    if line is None:
        return None
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise _bad("The first line is not METHOD /PATH HTTP/1.1.")
    version = (int(found[3]), int(found[4]))
    if version[0] != 1:
        raise BadHead(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "This server supports HTTP/1.1.")
    headers = _headers(file)
    if headers is None:
        return None
    if version >= (1, 1) and "host" not in headers:
        raise _bad("The header Host is missing.")
    return Head(
        method=found[1], target=found[2], version=version, headers=headers, body_bytes=_length(headers)
    )


def _headers(file: BufferedIOBase) -> dict[str, str] | None:
    headers: dict[str, str] = {}
    room = HEAD_BYTES_MAX
    for _ in range(HEADERS_MAX + 1):
        line = _line(file, room, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if not line:
            return None if line is None else headers
        room -= len(line) + 2
        _add(headers, line)
    raise BadHead(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"A request has at most {HEADERS_MAX} headers.")


def _add(headers: dict[str, str], line: str) -> None:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise _bad("A header is not NAME: VALUE.")
    name, value = found[1].lower(), found[2].rstrip(" \t")
    before = headers.get(name)
    if before is not None and name in _SINGLE:
        raise _bad(f"The header {name} is sent twice.")
    if before is not None:
        value = f"{before}{'; ' if name == 'cookie' else ', '}{value}"
    headers[name] = value


def _line(file: BufferedIOBase, bytes_max: int, status: HTTPStatus) -> str | None:
    """Return the next line without its CRLF. None if the connection ends before that."""
    line = file.readline(bytes_max + 1)
    if len(line) > bytes_max:
        raise BadHead(status, f"A line, or the whole head, has more than {LINE_BYTES_MAX} bytes.")
    if not line.endswith(b"\n"):
        return None
    if not line.endswith(b"\r\n"):
        raise _bad("A line does not end with CRLF.")
    return line[:-2].decode("latin-1")


def _length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadHead(HTTPStatus.LENGTH_REQUIRED, "A body needs a Content-Length.")
    text = headers.get("content-length", "0")
    if not _LENGTH.fullmatch(text):
        raise _bad("Content-Length is not a number.")
    if int(text) > BYTES_MAX:
        raise BadHead(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {BYTES_MAX} bytes.")
    return int(text)


def _bad(detail: str) -> BadHead:
    return BadHead(HTTPStatus.BAD_REQUEST, detail)
