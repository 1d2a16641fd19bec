"""Access control: the senders of requests, their roles, and the requests that are refused with any token.

Of these, only the first one in a request counts:

1. ``Authorization: Bearer`` with a token: of ``SLUICE_CONSOLE_TOKEN`` (``operate``), of ``SLUICE_CONSOLE_VIEW_TOKEN``
   (``view``), or a named token of the file ``SLUICE_CONSOLE_TOKENS``
2. a user of a trusted proxy (``identity.proxy``)
3. the cookie of a session that was opened with a token (``identity.sessions``)

Invariants:

- Tokens are compared by their SHA-256, each with each in constant time. So the time of an answer depends on no token.
- A wrong token and a forged session are answered after a pause (``login_throttle``), a missing one at once.
- A page of another site in a signed-in user's browser can send requests. So requests of another origin are refused, and
  a call that changes anything must have a content type that no form sends. This includes users of a proxy, whose
  browser sends the proxy's own cookie.
- The address in the audit is that of the connection. For a proxy on this machine and for a trusted proxy it is the
  address that the proxy reports, marked as such.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec.structs import replace

from sluice.ops.console.http_message import JSON_TYPE, Request, Response, problem
from sluice.ops.console.identity.proxy import TrustedProxy
from sluice.ops.console.identity.roles import Identity, Role, Who
from sluice.ops.console.identity.sessions import (
    COOKIE,
    digest_of,
    is_session,
    is_signed,
    sessions_in,
    write_session,
)
from sluice.ops.console.identity.token_file import AccessList, NamedToken
from sluice.ops.console.login_throttle import Refusals

#: Names of this machine for itself.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
#: Least length of a token. A patient client could guess a shorter token.
TOKEN_CHARS_MIN = 16
_BEARER = "Bearer "
_BODIED = frozenset({"POST", "PUT", "PATCH"})


class AccessControl:
    """Access control with an ``operate`` and a ``view`` token, named tokens, and a trusted proxy. A session has the
    role of the token that opened it.
    """

    def __init__(
        self,
        operate: str | None,
        view: str | None = None,
        *,
        listed: Callable[[], AccessList] = AccessList,
        proxy: TrustedProxy = TrustedProxy(),  # noqa: B008 - it is frozen
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        # If both tokens are the same, the token has the greater role.
        given = ((Role.OPERATE, operate), (Role.VIEW, view))
        self._own = {
            str(role): NamedToken(role=role, sha256=digest_of(token))
            for role, token in given
            if token is not None
        }
        self._listed = listed
        self._proxy = proxy
        self._clock = clock
        self._refusals = Refusals(clock)

    def turned_away(self, request: Request) -> Response | None:
        """Refuse a request of another origin or of a wrong content type, whatever its token. None if it may proceed."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if origin is not None and _place_of(origin) != host:
            return problem(HTTPStatus.FORBIDDEN, "Requests from a page of another origin are refused.")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method in _BODIED and kind != JSON_TYPE:
            return problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"The Content-Type must be {JSON_TYPE}, even if the body is empty.",
            )
        return None

    def who(self, request: Request) -> Who | None:
        """Return the sender. None without a valid token or session, and without a user of a trusted proxy."""
        access = self._listed()
        found = self._identity(request, access)
        if found is None:
            return None
        return Who(name=found.name, role=found.role, tenant=found.tenant, at=self._address(request))

    def identify(self, token: str) -> Identity | None:
        """Return the name and role of a token. None if the token is wrong."""
        return _owner(token, self._tokens(self._listed()))

    def session(self, name: str, request: Request) -> str:
        """Return the cookie of a new session, for a client that has sent the token with this name. If the token has
        been removed since, the cookie has no session.
        """
        token = self._tokens(self._listed()).get(name)
        if token is None:
            return self.no_session(request)
        return _cookie(write_session(name, token.sha256, self._clock()), request)

    def no_session(self, request: Request) -> str:
        """Return a cookie that removes the session."""
        return f"{_cookie('', request)}; Max-Age=0"

    def stranger(self, request: Request) -> Response:
        """Return the answer for an unknown sender. A request without a token and without a forged session is not a
        guess, so it is answered without a pause.
        """
        found = sessions_in(request.headers.get("cookie", ""))
        made_up = any(text and not self._is_ours(text) for text in found)
        return (
            self.wrong_token(request) if "authorization" in request.headers or made_up else _unknown_asker()
        )

    def wrong_token(self, request: Request) -> Response:
        """Return the answer for a wrong token. It is sent after a pause."""
        return _unknown_asker(after_s=self._refusals.refused(self._address(request)))

    def _tokens(self, access: AccessList) -> Mapping[str, NamedToken]:
        return self._own | access.tokens

    def _is_ours(self, session: str) -> bool:
        tokens = self._tokens(self._listed())
        return any(is_signed(session, token.sha256) for name, token in tokens.items() if _of(name, [session]))

    def _identity(self, request: Request, access: AccessList) -> Identity | None:
        sent = request.headers.get("authorization")
        if sent is not None and sent.startswith(_BEARER):
            return _owner(sent.removeprefix(_BEARER).strip(), self._tokens(access))
        # A proxy may send an Authorization of another kind with its user.
        user = self._proxy.identity_of(request, access)
        if user is not None or sent is not None:
            return user
        return self._of_session(request, self._tokens(access))

    def _of_session(self, request: Request, tokens: Mapping[str, NamedToken]) -> Identity | None:
        found, now = sessions_in(request.headers.get("cookie", "")), self._clock()
        fits = [
            name
            for name, token in tokens.items()
            if any(is_session(text, name, token.sha256, now) for text in _of(name, found))
        ]
        return _identity_of(fits[0], tokens) if fits else None

    def _address(self, request: Request) -> str:
        """Return the client's address. For a proxy, return the address that it reports, marked as such."""
        told = _read_address(request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip())
        is_proxy = request.address in LOOPBACK or self._proxy.is_at(request.address)
        if told is None or not is_proxy:
            return request.address
        return f"{told} by way of {request.address}"


def _of(name: str, sessions: Sequence[str]) -> list[str]:
    """Return the sessions that name this token."""
    return [text for text in sessions if text.startswith(f"{name}.")]


def _owner(token: str, tokens: Mapping[str, NamedToken]) -> Identity | None:
    digest = digest_of(token)
    fits = [name for name, own in tokens.items() if hmac.compare_digest(digest, own.sha256)]
    return _identity_of(fits[0], tokens) if fits else None


def _identity_of(name: str, tokens: Mapping[str, NamedToken]) -> Identity:
    return Identity(name=name, role=tokens[name].role, tenant=tokens[name].tenant)


def _unknown_asker(*, after_s: float = 0.0) -> Response:
    told = problem(
        HTTPStatus.UNAUTHORIZED,
        "The token is missing or wrong.",
        "Send it as `Authorization: Bearer TOKEN`, or sign in with it.",
        **{"WWW-Authenticate": "Bearer"},
    )
    return replace(told, after_s=after_s)


def _cookie(value: str, request: Request) -> str:
    secure = "; Secure" if request.headers.get("x-forwarded-proto", "").strip().lower() == "https" else ""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"


def _read_address(text: str) -> str | None:
    """Return an address in canonical form. None if it is no address. None also for a zone, because a zone may be any
    text.
    """
    try:
        return None if "%" in text else str(ip_address(text))
    except ValueError:
        return None


def _place_of(origin: str) -> str | None:
    """Return the host and port of an origin. None if it is no address, because clients may send any text."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
