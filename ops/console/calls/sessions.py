"""Who somebody is: a token that is shown once, and a cookie from then on."""

from msgspec import Struct

from jobs.errors import BadRequest
from ops.console.exchange import Answer
from ops.console.gate import Role
from ops.console.office import Office
from ops.console.route import Asked, Nothing, Route


class Session(Struct, frozen=True, kw_only=True):
    """``needs_token``: there is one, and whoever asks has shown it. ``who`` is what the audit says of him."""

    role: Role
    needs_token: bool
    who: str


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    token: str


class SignedOut(Struct, frozen=True, kw_only=True):
    signed_out: bool


def session(_: Office, asked: Asked[Nothing, Nothing]) -> Session:
    if asked.who is None:
        raise BadRequest("Nobody has signed in.")
    return Session(role=asked.who.role, needs_token=asked.gate.needs_token, who=str(asked.who))


def sign_in(_: Office, asked: Asked[Nothing, SignIn]) -> Answer:
    """Where no token is needed there is nothing to be had by one."""
    role = asked.gate.role_for(asked.body.token) if asked.gate.needs_token else Role.OPERATE
    if role is None:
        return asked.gate.wrong_token(asked.request)
    cookie = {"Set-Cookie": asked.gate.session(role, asked.request)} if asked.gate.needs_token else {}
    told = Session(role=role, needs_token=asked.gate.needs_token, who=str(role))
    return Answer(document=told, headers=cookie)


def sign_out(_: Office, asked: Asked[Nothing, Nothing]) -> Answer:
    return Answer(
        document=SignedOut(signed_out=True), headers={"Set-Cookie": asked.gate.no_session(asked.request)}
    )


_PATH = "/api/session"
ROUTES = (
    Route(method="GET", path=_PATH, call=session, summary="Who is asking, and what he may", answers=Session),
    Route(
        method="POST",
        path=_PATH,
        call=sign_in,
        summary="Sign in with a token; a cookie stands for it from then on",
        answers=Session,
        body=SignIn,
        role=None,
    ),
    Route(method="DELETE", path=_PATH, call=sign_out, summary="Sign out", answers=SignedOut, role=None),
)
