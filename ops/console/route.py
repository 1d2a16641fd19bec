"""Definition of a call: its path, its role, its parameters and its answer."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from msgspec import Struct

from sluice.ops.console.access import AccessControl
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import JSON_TYPE, Request
from sluice.ops.console.identity.roles import Role, Who
from sluice.ops.console.tenancy import Tenancy, TenantReach

Q = TypeVar("Q")
B = TypeVar("B")


class NoParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class CallArguments(Struct, Generic[Q, B], frozen=True, kw_only=True):
    """Arguments of a call. ``words`` are the variable parts of the path. ``query`` and ``body`` have the types of the
    route. ``who`` may be None if the call needs no role. ``reach`` are the apps that the sender may see.
    """

    words: Sequence[str]
    query: Q
    body: B
    who: Who | None
    request: Request
    gate: AccessControl
    reach: TenantReach = TenantReach()


class Route(Struct, frozen=True, kw_only=True):
    """Call and its path.

    ``path`` has names in braces, each of which stands for any part. ``words`` lists the values that a name may
    stand for, if only some are allowed. The call returns the document, or an ``Answer``. ``answers`` is the type of
    the document, for the description. A call without a ``role`` needs no token. ``tenancy`` decides about senders of
    one tenant; they are refused if it is missing. A ``bounded`` call takes at most two seconds, even if the ledger
    hangs. So it needs none of the places that other calls may hold.
    """

    method: str
    path: str
    call: Callable[[ConsoleContext, CallArguments[Any, Any]], Any]
    summary: str
    answers: Any
    query: Any = NoParameters
    body: Any = NoParameters
    role: Role | None = Role.VIEW
    tenancy: Tenancy | None = None
    status: HTTPStatus = HTTPStatus.OK
    kind: str = JSON_TYPE
    bounded: bool = False
    words: Mapping[str, Sequence[str]] = {}

    @property
    def parts(self) -> Sequence[str]:
        return self.path.strip("/").split("/")

    def given(self, words: Sequence[str]) -> list[str] | None:
        """Return the values of the names in the path. None if the path does not match.

        Only a key may be empty. A slash at the end is ignored otherwise.
        """
        if words[-1] == "" and len(words) > len(self.parts):
            words = words[:-1]
        if len(words) != len(self.parts):
            return None
        pairs = [*zip(words, self.parts, strict=True)]
        if any(word != part if not is_name(part) else not (word or part == "{key}") for word, part in pairs):
            return None
        return [word for word, part in pairs if is_name(part)]


def action(
    path: str,
    call: Callable[[ConsoleContext, CallArguments[Any, Any]], Any],
    summary: str,
    *,
    answers: Any,
    tenancy: Tenancy,
    body: Any = NoParameters,
) -> Route:
    """Return the route of a call that changes something: a POST that needs the role ``operate``."""
    return Route(
        method="POST",
        path=path,
        call=call,
        summary=summary,
        answers=answers,
        body=body,
        role=Role.OPERATE,
        tenancy=tenancy,
    )


def is_name(part: str) -> bool:
    return part.startswith("{")
