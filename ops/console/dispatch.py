"""Dispatch of requests: the call that a request names, and its answer."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import parse_qs, unquote

import msgspec

from sluice.jobs.blobs import BlobsUnavailable
from sluice.jobs.errors import BadRequest, Conflict, DefinitionError, SluiceError, Unreachable
from sluice.jobs.model.request_limits import unfit
from sluice.ops.console.access import AccessControl
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.files import Files
from sluice.ops.console.http_message import Request, Response, Unreadable, problem
from sluice.ops.console.identity.roles import Who
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import INSTALLATION, OutOfReach

_LOG = logging.getLogger("sluice.console")

#: Path of calls: everything below it is a call. A GET of another path that is no call gets a file of the page.
_API = "/api"
#: Greatest number of parameters in a query.
_WORDS_MAX = 200
#: Bytes of a body that are read before the sender is known: enough to sign in.
_STRANGER_BYTES_MAX = 8 * 1024


class Answering:
    """Dispatcher of requests. ``routes`` are all calls."""

    def __init__(
        self, console: ConsoleContext, gate: AccessControl, routes: Sequence[Route], files: Files
    ) -> None:
        self._console = console
        self._gate = gate
        self._routes = routes
        self._files = files
        self._outside = {route.path for route in routes if not _is_below_api(route.path)}

    def refuse(self, request: Request, body_bytes: int) -> Response | None:
        """Refuse a request by its head alone if its body is large and its sender unknown. None if the body may be
        read.

        Otherwise anyone could hold as many large bodies in the console's memory as it has connections.
        """
        if body_bytes <= _STRANGER_BYTES_MAX or self._gate.who(request) is not None:
            return None
        return self._gate.turned_away(request) or self._gate.stranger(request)

    def answer(self, request: Request) -> Response:
        """Return the answer to a request. An exception in a call also becomes an answer."""
        refused = self._gate.turned_away(request)
        if refused is not None:
            return refused
        if request.verb == "GET" and not self._is_call(request.path):
            return self._files.answer(request)
        words = _words(request.path)
        found = self._routes_at(words)
        here = next((route for route in found if route.method == request.verb), None)
        who = self._gate.who(request)
        if who is None and not (here and here.role is None):
            return self._gate.stranger(request)
        if here is None:
            return _no_such_call(found)
        return self._not_for(here, who) or self._called(here, words, request, who)

    def is_bounded(self, request: Request) -> bool:
        """Return whether the request takes at most two seconds, even if the ledger hangs."""
        found = self._routes_at(_words(request.path))
        return any(route.bounded and route.method == request.verb for route in found)

    def _is_call(self, path: str) -> bool:
        return _is_below_api(path) or path.removesuffix("/") in self._outside

    def _routes_at(self, words: Sequence[str]) -> list[Route]:
        """Return the routes of a path, one for each method that it accepts. No path contains a NUL character."""
        if any("\x00" in word for word in words):
            return []
        return [route for route in self._routes if route.given(words) is not None]

    def _not_for(self, route: Route, who: Who | None) -> Response | None:
        if route.role is None or who is None or who.role.may(route.role):
            return None
        return problem(
            HTTPStatus.FORBIDDEN,
            f"The role {who.role} may not do this; it needs the role {route.role}.",
            "Use another token, for example the value of SLUICE_CONSOLE_TOKEN.",
        )

    def _called(self, route: Route, words: Sequence[str], request: Request, who: Who | None) -> Response:
        try:
            asked = CallArguments(
                words=route.given(words) or (),
                query=_read_query(request.query, route.query),
                body=_read(request.body, route.body),
                who=who,
                request=request,
                gate=self._gate,
                reach=self._console.reach(who),
            )
            tenancy = route.tenancy or INSTALLATION
            tenancy.admit(self._console, asked)
            found = tenancy.shown(route.call(self._console, asked), asked.reach)
        except SluiceError as error:
            return problem(_status_of(error, route), error.what, error.advice)
        except Exception:
            # A defect of Sluice: the client gets no details, and the log has them.
            _LOG.exception("A call failed: %s %s", route.method, route.path)
            return problem(
                HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error of Sluice. See the log for details."
            )
        return found if isinstance(found, Response) else Response(status=route.status, document=found)


def _is_below_api(path: str) -> bool:
    return path == _API or path.startswith(f"{_API}/")


def _words(path: str) -> list[str]:
    return [unquote(word) for word in path.removeprefix("/").split("/")]


def _no_such_call(others: Sequence[Route]) -> Response:
    if not others:
        return problem(HTTPStatus.NOT_FOUND, "There is no such call.")
    allowed = ", ".join(sorted({route.method for route in others}))
    return problem(HTTPStatus.METHOD_NOT_ALLOWED, f"This call accepts only {allowed}.", "", Allow=allowed)


def _status_of(error: SluiceError, route: Route) -> HTTPStatus:
    """Return the status for an error. BadRequest in a GET means that the requested object is missing: 404."""
    match error:
        case Unreadable():
            return HTTPStatus.BAD_REQUEST
        case OutOfReach():
            return error.status
        case Conflict():
            return HTTPStatus.CONFLICT
        case Unreachable() | BlobsUnavailable() | DefinitionError():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case BadRequest() if route.method == "GET":
            return HTTPStatus.NOT_FOUND
    return HTTPStatus.UNPROCESSABLE_ENTITY


def _read_query(text: str, kind: Any) -> Any:
    """Convert a query to its type. Parameters that may be repeated become lists; other texts become the types of their
    fields.
    """
    try:
        said = parse_qs(text, keep_blank_values=True, max_num_fields=_WORDS_MAX, errors="strict")
    except ValueError as error:
        raise Unreadable(f"The query cannot be read: {error}.") from None
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    if unknown := said.keys() - fields.keys():
        raise Unreadable(f"This call has no query parameter {min(unknown)!r}.")
    found = {
        name: texts if _is_many(fields[name].type) else _one(name, texts) for name, texts in said.items()
    }
    if any("\x00" in each for texts in said.values() for each in texts):
        raise Unreadable("The query contains a NUL character, which the ledger cannot store.")
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Unreadable(f"The query cannot be read: {error}.") from None


def _is_many(kind: Any) -> bool:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_origin(bare) is tuple


def _one(name: str, texts: Sequence[str]) -> str:
    if len(texts) > 1:
        raise Unreadable(f"{name!r} may be given only once.")
    return texts[0]


def _read(body: bytes, kind: Any) -> Any:
    """Convert a body to its type. An empty body is an empty object."""
    if reason := unfit(body):
        raise Unreadable(reason)
    try:
        if kind is NoParameters:
            return _no_words(msgspec.json.decode(body or b"{}", type=dict[str, Any]))
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"The body cannot be read: {error}") from None


def _no_words(said: Mapping[str, Any]) -> NoParameters:
    if said:
        raise Unreadable("This call takes no fields.")
    return NoParameters()
