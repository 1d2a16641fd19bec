"""Who may ask.

With a token whoever sends it may. Without one whoever can reach the loopback address may, and that is not only people:
a page in their browser may as well. So a page of another origin is turned away, also one that has had its own name
resolve to this machine; and a call that changes anything has to be of a type that no form sends.
"""

import hmac
from http import HTTPStatus
from urllib.parse import urlsplit

from ops.console.exchange import JSON_TYPE, Answer, Request, problem

#: What this machine calls itself, to itself.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_BEARER = "Bearer "


def turned_away(request: Request, token: str | None) -> Answer | None:
    """Why it is; None for whoever may ask."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    if token is None and _name_of(host) not in LOOPBACK:
        return problem(
            HTTPStatus.FORBIDDEN,
            "Without a token only this machine may ask, by its own name.",
            "Set SLUICE_CONSOLE_TOKEN, and send it as `Authorization: Bearer TOKEN`.",
        )
    if origin is not None and urlsplit(origin).netloc != host:
        return problem(HTTPStatus.FORBIDDEN, "A page of another origin may not ask.")
    if token is not None and not _has(request, token):
        return problem(
            HTTPStatus.UNAUTHORIZED,
            "The token is missing, or is another.",
            "Send it as `Authorization: Bearer TOKEN`.",
            **{"WWW-Authenticate": "Bearer"},
        )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind != JSON_TYPE:
        return problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"What is asked has to be {JSON_TYPE}, also where it is empty."
        )
    return None


def _has(request: Request, token: str) -> bool:
    sent = request.headers.get("authorization", "")
    return sent.startswith(_BEARER) and hmac.compare_digest(
        sent.removeprefix(_BEARER).strip().encode(), token.encode()
    )


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
