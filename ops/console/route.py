"""What a call is: its path, who may ask for it, what it takes and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from msgspec import Struct

from sluice.ops.console.exchange import JSON_TYPE, Request
from sluice.ops.console.gate import Gate, Role, Who
from sluice.ops.console.office import Office

Q = TypeVar("Q")
B = TypeVar("B")


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No words at all."""


class Asked(Struct, Generic[Q, B], frozen=True, kw_only=True):
    """``words`` are those that stand in the path for something, ``query`` and ``body`` what was read of the rest. Of a
    call that anybody may make nobody may know who asks."""

    words: Sequence[str]
    query: Q
    body: B
    who: Who | None
    request: Request
    gate: Gate


class Route(Struct, frozen=True, kw_only=True):
    """``path`` has names in braces, each of which stands for any word. What the call returns is the document, or else
    an ``Answer``. ``answers`` is its type, for whoever reads the description, and ``words`` are those that a name of
    the path may stand for, where not any. No ``role`` means whoever asks.
    """

    method: str
    path: str
    call: Callable[[Office, Asked[Any, Any]], Any]
    summary: str
    answers: Any
    query: Any = Nothing
    body: Any = Nothing
    role: Role | None = Role.VIEW
    status: HTTPStatus = HTTPStatus.OK
    kind: str = JSON_TYPE
    words: Mapping[str, Sequence[str]] = {}

    @property
    def parts(self) -> Sequence[str]:
        return self.path.strip("/").split("/")

    def given(self, words: Sequence[str]) -> list[str] | None:
        """The words that stand for the names; None where the path is another."""
        if len(words) != len(self.parts):
            return None
        pairs = [*zip(words, self.parts, strict=True)]
        if any(word != part if not is_name(part) else not word for word, part in pairs):
            return None
        return [word for word, part in pairs if is_name(part)]


def is_name(part: str) -> bool:
    return part.startswith("{")
