"""Session as stored in its cookie: a role, the time at which it was opened, and a signature.

Invariants:

- The key of the signature is derived from the role's token. So each console with the token accepts the session,
  whichever console has opened it and however often that was restarted. A new token ends the sessions of the old
  token.
- A session is valid for ``LASTS`` and no longer, wherever it was kept.
- The token cannot be computed from a session. A client with a session can test guesses of the token on it. A client
  without a session can only send a forged session, which is treated like a wrong token (``is_signed``).
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
