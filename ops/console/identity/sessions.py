"""Sessions in cookies.

A session is stored in its cookie: the name of a token, the time at which it was opened, and a signature. Invariants:

- The key of the signature is derived from the SHA-256 of the token. So each console with the token accepts the session,
  also of another console, and after restarts. If a token is replaced or removed, its sessions
  are invalid with the next request.
- A session has no role. It has the role and the tenant that its token has at the time of the request.
- A session is valid for ``LASTS`` and no longer.
- The token cannot be computed from a session. A client with a session can test guesses of the token on it. A client
  without a session can only send a forged session, which is treated like a wrong token (``is_signed``).
- A reader of the file of tokens cannot use a token, but can sign sessions. So the file is as secret as the tokens.
"""

import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

COOKIE = "sluice_session"
LASTS = timedelta(hours=12)
#: Greatest difference between the clocks of two consoles. A session from later than that is invalid: the clock that
#: made it has been corrected since, and the session would be valid for too long.
_AHEAD_MAX = timedelta(minutes=5)
#: Purpose of the key. A key that is derived from the token for another purpose differs.
_LABEL = b"sluice session"


def digest_of(token: str) -> str:
    """Return the SHA-256 of a token, as the file of tokens has it."""
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def write_session(name: str, digest: str, at: datetime) -> str:
    """Return a new session for the token with this name and SHA-256, for example ``operate.1795140000.5f0c…``. Nothing
    in it must be quoted in a header.
    """
    said = f"{name}.{int(at.timestamp())}"
    return f"{said}.{_signature(said, digest)}"


def is_session(text: str, name: str, digest: str, now: datetime) -> bool:
    """Return whether the session was written for this token, and is still valid."""
    if not is_signed(text, digest):
        return False
    # The text is signed with our key, so it has the form that ``write_session`` gives it.
    of, _, moment = text.rpartition(".")[0].rpartition(".")
    age = now - datetime.fromtimestamp(int(moment), UTC)
    return of == name and -_AHEAD_MAX <= age < LASTS


def is_signed(text: str, digest: str) -> bool:
    """Return whether the session was signed for the token with this SHA-256. It may have expired."""
    said, _, signature = text.rpartition(".")
    return hmac.compare_digest(signature.encode(), _signature(said, digest).encode())


def sessions_in(header: str) -> Sequence[str]:
    """Return the sessions in a ``Cookie`` header.

    The header also has cookies of other services on the same host, with any content that browsers accept. The
    standard library's reader is not used, because it stops at the first bad cookie.
    """
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [text for name, _, text in pairs if name == COOKIE]


def _signature(said: str, digest: str) -> str:
    key = hmac.digest(digest.encode(), _LABEL, sha256)
    return hmac.new(key, said.encode(), sha256).hexdigest()
