"""A session as its cookie has it: a role, since when, and a signature.

What holds:

- The key of the signature follows from the role's token. So each console that has the token knows the session,
  whichever has made it and however often it was started anew; and whoever changes the token ends its sessions.
- It is good for ``LASTS`` and no longer, wherever it was kept meanwhile.
- The token cannot be had back from it. Whoever has a session can try out on it what the token may be; whoever has none
  can do no more than show one that he has made up, which is as good as a wrong token (``is_signed``).
"""

import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

COOKIE = "sluice_session"
LASTS = timedelta(hours=12)
#: The clocks of two consoles may differ by so much. What is said to be from later than that is good nowhere: it was
#: made by a clock that has been put right since, and would be good for too long.
_AHEAD_MAX = timedelta(minutes=5)
#: What the key is for; a key for anything else that follows from the token is another.
_LABEL = b"sluice session"


def write_session(role: str, token: str, at: datetime) -> str:
    """``operate.1795140000.5f0c…``: nothing in it has to be quoted in a header."""
    said = f"{role}.{int(at.timestamp())}"
    return f"{said}.{_signature(said, token)}"


def is_session(text: str, role: str, token: str, now: datetime) -> bool:
    """Whether this was written for the role with this token, and is still good."""
    if not is_signed(text, token):
        return False
    # Nobody else could have signed it, so it reads as it was written.
    of, _, moment = text.rpartition(".")[0].partition(".")
    age = now - datetime.fromtimestamp(int(moment), UTC)
    return of == role and -_AHEAD_MAX <= age < LASTS


def is_signed(text: str, token: str) -> bool:
    """Whether somebody wrote it who has the token, be it good or not any more."""
    said, _, signature = text.rpartition(".")
    return hmac.compare_digest(signature.encode(), _signature(said, token).encode())


def sessions_in(header: str) -> Sequence[str]:
    """What a ``Cookie`` header has under our name. The cookies of others on the same host are in it as well, and may
    be whatever browsers let pass: the standard library's reader gives up at the first that is no good."""
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [text for name, _, text in pairs if name == COOKIE]


def _signature(said: str, token: str) -> str:
    key = hmac.digest(token.encode(), _LABEL, sha256)
    return hmac.new(key, said.encode(), sha256).hexdigest()
