"""Sessions: a client sends a token once, and a cookie from then on."""

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import Response
from sluice.ops.console.identity.roles import Role
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import OPEN


class Session(Struct, frozen=True, kw_only=True):
    """Session. ``who`` is the name of the sender in the audit. ``tenant`` is the only tenant whose apps the sender may
    see; null for the whole installation.
    """

    role: Role
    who: str
    tenant: str | None


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    token: str


class SignedOut(Struct, frozen=True, kw_only=True):
    signed_out: bool


def session(_: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Session:
    if asked.who is None:
        raise BadRequest("You are not signed in.")
    return Session(role=asked.who.role, who=str(asked.who), tenant=asked.who.tenant)


def sign_in(_: ConsoleContext, asked: CallArguments[NoParameters, SignIn]) -> Response:
    found = asked.gate.identify(asked.body.token)
    if found is None:
        return asked.gate.wrong_token(asked.request)
    document = Session(role=found.role, who=found.name, tenant=found.tenant)
    return Response(document=document, headers={"Set-Cookie": asked.gate.session(found.name, asked.request)})


def sign_out(_: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Response:
    return Response(
        document=SignedOut(signed_out=True), headers={"Set-Cookie": asked.gate.no_session(asked.request)}
    )


_PATH = "/api/session"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=session,
        summary="The sender of the request, and the role",
        answers=Session,
        tenancy=OPEN,
    ),
    Route(
        method="POST",
        path=_PATH,
        call=sign_in,
        summary="Sign in with a token; the answer sets a session cookie",
        answers=Session,
        tenancy=OPEN,
        body=SignIn,
        role=None,
    ),
    Route(
        method="DELETE",
        path=_PATH,
        call=sign_out,
        summary="Sign out",
        answers=SignedOut,
        tenancy=OPEN,
        role=None,
    ),
)
