"""A request, as far as the console needs it, and its answer."""

from collections.abc import Generator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct, field

from sluice.jobs.errors import BadRequest

JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"
TEXT_TYPE = "text/plain; charset=utf-8"
EVENTS_TYPE = "text/event-stream"


class Unreadable(BadRequest):
    """Raised when a request does not have the form that the call takes."""


class Request(Struct, frozen=True, kw_only=True):
    """HTTP request. Names of ``headers`` are in lower case. ``path`` and ``query`` are as they were sent, before and
    after the question mark. ``address`` is the other end of the connection.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    address: str = ""

    @property
    def verb(self) -> str:
        """Method of the request. HEAD is answered like GET."""
        return "GET" if self.method == "HEAD" else self.method


class Response(Struct, frozen=True, kw_only=True):
    """Answer: a document, or instead of it ``content`` as it is, or ``pieces``.

    An empty piece means that there is nothing new yet. Pieces that are ``is_live`` continue as long as the client
    listens. The answer is sent after ``after_s`` seconds and not earlier.
    """

    status: HTTPStatus = HTTPStatus.OK
    document: Any = None
    kind: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    pieces: Generator[bytes, None, None] | None = None
    is_live: bool = False
    after_s: float = 0.0

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(self.document) + b"\n" if self.content is None else self.content


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Error as problem details (RFC 9457). ``advice`` is the recommended action."""

    type: str
    title: str
    status: int
    detail: str
    advice: str = ""


def problem(status: HTTPStatus, detail: str, advice: str = "", **headers: str) -> Response:
    """Return an error as an answer. ``advice`` is the recommended action."""
    told = Problem(type="about:blank", title=status.phrase, status=status.value, detail=detail, advice=advice)
    return Response(status=status, document=msgspec.to_builtins(told), kind=PROBLEM_TYPE, headers=headers)
