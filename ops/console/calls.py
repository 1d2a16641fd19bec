"""Which call a request is, and what it comes to."""

import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from actors.client import Client
from jobs.errors import BadRequest, SluiceError, Unreachable
from jobs.ref import JobName
from jobs.submission import JSON, NUL, Submission
from ops.console.exchange import Answer, Request, problem
from ops.console.gate import turned_away

_LOG = logging.getLogger("sluice.console")

T = TypeVar("T")
#: A call, given the words of its path that stand for something, and its body.
Call = Callable[[Client, Sequence[str], bytes], Answer]
#: Who says so, in a saga's record.
BY = "the console"


class Unreadable(BadRequest):
    """A body that is not what the call takes."""


class _Event(Struct, frozen=True, forbid_unknown_fields=True):
    event: str | None = None
    payload: JSON = None


def _submit(client: Client, _: Sequence[str], body: bytes) -> Answer:
    submission = client.submit(_read(body, Submission))
    return _done({"submission": submission, "state": "received"}, HTTPStatus.ACCEPTED)


def _cancel(client: Client, words: Sequence[str], body: bytes) -> Answer:
    _read_nothing(body)
    return _done({"cancelled": len(client.cancel(words[0]))})


def _resume(client: Client, words: Sequence[str], body: bytes) -> Answer:
    name, said = JobName(words[0], words[1]), _read(body, _Event)
    became = client.resume_job(name, said.event, payload=said.payload, by=BY)
    return _done({"app": name.app, "key": name.key, "event": said.event, "became": became})


class Route(NamedTuple):
    """A ``*`` in the path stands for any word."""

    method: str
    path: tuple[str, ...]
    call: Call


ROUTES = (
    Route("POST", ("api", "submissions"), _submit),
    Route("POST", ("api", "submissions", "*", "cancel"), _cancel),
    Route("POST", ("api", "jobs", "*", "*", "resume"), _resume),
)


def answer(client: Client, request: Request, *, token: str | None) -> Answer:
    """Whatever happens there is one."""
    refused = turned_away(request, token)
    if refused is not None:
        return refused
    words = [unquote(word) for word in request.path.strip("/").split("/")]
    found = [route for route in ROUTES if _fits(route.path, words)]
    if not found or any("\x00" in word for word in words):
        return problem(HTTPStatus.NOT_FOUND, "There is no such call.")
    here = [route for route in found if route.method == request.method]
    if not here:
        allowed = ", ".join(route.method for route in found)
        return problem(HTTPStatus.METHOD_NOT_ALLOWED, f"This call is a {allowed}.", "", Allow=allowed)
    return _called(here[0], client, words, request.body)


def _called(route: Route, client: Client, words: Sequence[str], body: bytes) -> Answer:
    given = [word for word, kind in zip(words, route.path, strict=True) if kind == "*"]
    try:
        return route.call(client, given, body)
    except Unreadable as error:
        return problem(HTTPStatus.BAD_REQUEST, error.what, error.advice)
    except Unreachable as error:
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, error.what, error.advice)
    except SluiceError as error:
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, error.what, error.advice)
    except Exception:
        # A fault of ours: whoever asked is told no more than that, and the log has the rest.
        _LOG.exception("A call failed: %s %s", route.method, "/".join(route.path))
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "A fault of Sluice; its log says more.")


def _read(body: bytes, kind: type[T]) -> T:
    if NUL in body:
        raise Unreadable("It holds a NUL character, which no ledger keeps.")
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Unreadable(f"It cannot be read: {error}") from None


def _read_nothing(body: bytes) -> None:
    if _read(body, dict[str, Any]):
        raise Unreadable("This call takes no words.")


def _done(document: Any, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(status=status, document=document)


def _fits(path: Sequence[str], words: Sequence[str]) -> bool:
    return len(path) == len(words) and all(
        kind == word or (kind == "*" and word != "") for kind, word in zip(path, words, strict=True)
    )
