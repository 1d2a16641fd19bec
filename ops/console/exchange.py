"""A request as far as anybody here has to know it, and its answer."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct, field

JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"


class Request(Struct, frozen=True, kw_only=True):
    """``headers`` by their names in lower case. ``path`` as it was sent, without what follows a question mark."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Answer(Struct, frozen=True, kw_only=True):
    status: HTTPStatus
    document: Any
    kind: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(self.document) + b"\n"


def problem(status: HTTPStatus, detail: str, advice: str = "", **headers: str) -> Answer:
    """What went wrong, and what to do."""
    told = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    return Answer(
        status=status,
        document=told | ({"advice": advice} if advice else {}),
        kind=PROBLEM_TYPE,
        headers=headers,
    )
