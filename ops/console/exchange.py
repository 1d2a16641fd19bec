"""A request as far as anybody here has to know it, and its answer."""

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
    """What was sent is not what the call takes."""


class Request(Struct, frozen=True, kw_only=True):
    """``headers`` by their names in lower case. ``path`` and ``query`` as they were sent, before and after the question
    mark. ``address`` is who is at the other end of the connection."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    address: str = ""

    @property
    def verb(self) -> str:
        """Its method; who asks for the head alone asks for what a GET would get."""
        return "GET" if self.method == "HEAD" else self.method


class Answer(Struct, frozen=True, kw_only=True):
    """A document, or in its place ``content`` as it is, or ``pieces``, of which an empty one says that there is nothing
    new yet. ``is_live``: the pieces come for as long as somebody listens. It is sent ``after_s`` and not before."""

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
    """What went wrong, in the words of RFC 9457, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    advice: str = ""


def problem(status: HTTPStatus, detail: str, advice: str = "", **headers: str) -> Answer:
    """What went wrong, and what to do."""
    told = Problem(type="about:blank", title=status.phrase, status=status.value, detail=detail, advice=advice)
    return Answer(status=status, document=msgspec.to_builtins(told), kind=PROBLEM_TYPE, headers=headers)
