"""Access control, and sessions in cookies.

A request needs the operate or the view token, or the cookie of a session that was opened with a token. ``view`` may
read; ``operate`` may also change things. A page of another site in a signed-in user's browser can send requests. So
requests of another origin are refused, and a call that changes anything must have a content type that no form sends.

A session is stored in its cookie: a role, the time at which it was opened, and a signature. Invariants:

- The key of the signature is derived from the role's token. So each console with the token accepts the session,
  whichever console has opened it and however often that was restarted. A new token ends the sessions of the old token.
- A session is valid for ``LASTS`` and no longer, wherever it was kept.
- The token cannot be computed from a session. A client with a session can test guesses of the token on it. A client
  without a session can only send a forged session, which is treated like a wrong token (``is_signed``).
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from sluice.ops.console.http_message import JSON_TYPE, Request, Response, problem
from sluice.ops.console.login_throttle import Refusals

#: Names of this machine for itself.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
#: Least length of a token. A patient client could guess a shorter token.
TOKEN_CHARS_MIN = 16
_BEARER = "Bearer "
_BODIED = frozenset({"POST", "PUT", "PATCH"})


class Role(StrEnum):
    VIEW = "view"
    OPERATE = "operate"

    def may(self, needed: "Role") -> bool:
        return self is Role.OPERATE or needed is Role.VIEW


class Who(Struct, frozen=True, kw_only=True):
    """Sender with access. ``at`` is the sender's address."""

    role: Role
    at: str

    def __str__(self) -> str:
        return f"{self.role} from {self.at}" if self.at else str(self.role)


class AccessControl:
    """Access control with an ``operate`` and a ``view`` token. A session has the role of the token that opened it."""

    def __init__(
        self,
        operate: str | None,
        view: str | None = None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        # If both tokens are the same, the token has the greater role.
        given = ((Role.OPERATE, operate), (Role.VIEW, view))
        self._tokens: Mapping[Role, str] = {role: token for role, token in given if token is not None}
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
        """Return the sender. None without a valid token or session."""
        role = self._role_of(request)
        return None if role is None else Who(role=role, at=_address(request))

    def role_for(self, token: str) -> Role | None:
        """Return the role of a token. None if the token is wrong."""
        sent = token.encode("utf-8", "surrogateescape")
        fits = [role for role, own in self._tokens.items() if hmac.compare_digest(sent, own.encode())]
        return fits[0] if fits else None

    def session(self, role: Role, request: Request) -> str:
        """Return the cookie of a new session, for a client that has sent a token of this role."""
        return _cookie(write_session(role, self._tokens[role], self._clock()), request)

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
        return _unknown_asker(after_s=self._refusals.refused(_address(request)))

    def _is_ours(self, session: str) -> bool:
        return any(is_signed(session, token) for token in self._tokens.values())

    def _role_of(self, request: Request) -> Role | None:
        sent = request.headers.get("authorization")
        if sent is not None:
            return self.role_for(sent.removeprefix(_BEARER).strip()) if sent.startswith(_BEARER) else None
        found, now = sessions_in(request.headers.get("cookie", "")), self._clock()
        fits = [
            role
            for role, token in self._tokens.items()
            if any(is_session(text, role, token, now) for text in found)
        ]
        return fits[0] if fits else None


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


def _address(request: Request) -> str:
    """Return the client's address. For a proxy on this machine, return the address that it reports, marked as such."""
    told = _read_address(request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip())
    if request.address not in LOOPBACK or told is None:
        return request.address
    return f"{told} by way of {request.address}"


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


COOKIE = "sluice_session"
LASTS = timedelta(hours=12)
#: Greatest difference between the clocks of two consoles. A session from later than that is invalid: the clock that
#: made it has been corrected since, and the session would be valid for too long.
_AHEAD_MAX = timedelta(minutes=5)
#: Purpose of the key. A key that is derived from the token for another purpose differs.
_LABEL = b"sluice session"


def write_session(role: str, token: str, at: datetime) -> str:
    """Return a new session, for example ``operate.1795140000.5f0c…``. Nothing in it must be quoted in a header."""
    said = f"{role}.{int(at.timestamp())}"
    return f"{said}.{_signature(said, token)}"


def is_session(text: str, role: str, token: str, now: datetime) -> bool:
    """Return whether the session was written for the role with this token, and is still valid."""
    if not is_signed(text, token):
        return False
    # The text is signed with our token, so it has the form that ``write_session`` gives it.
    of, _, moment = text.rpartition(".")[0].partition(".")
    age = now - datetime.fromtimestamp(int(moment), UTC)
    return of == role and -_AHEAD_MAX <= age < LASTS


def is_signed(text: str, token: str) -> bool:
    """Return whether the session was signed with the token. It may have expired."""
    said, _, signature = text.rpartition(".")
    return hmac.compare_digest(signature.encode(), _signature(said, token).encode())


def sessions_in(header: str) -> Sequence[str]:
    """Return the sessions in a ``Cookie`` header.

    The header also has cookies of other services on the same host, with any content that browsers accept. The
    standard library's reader is not used, because it stops at the first bad cookie.
    """
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [text for name, _, text in pairs if name == COOKIE]


def _signature(said: str, token: str) -> str:
    key = hmac.digest(token.encode(), _LABEL, sha256)
    return hmac.new(key, said.encode(), sha256).hexdigest()
