"""Findings about the console: whether it may start with these settings, and whether one answers."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus

from sluice.actors.settings.settings import Settings
from sluice.jobs.errors import BadSetting
from sluice.ops.console.background import check_tokens
from sluice.ops.console.own_token import kept_token
from sluice.ops.console.server import ListenAddress
from sluice.ops.observe.doctor.finding import Finding, bad, ok, warn

ABOUT = "console"
_SESSION = "/api/session"
_ANSWERS_WITHIN_S = 3.0


def judge(place: ListenAddress, settings: Settings) -> Iterator[Finding]:
    """Yield the findings. ``place`` is the address at which the console listens, or will listen."""
    try:
        check_tokens(place, settings)
    except BadSetting as error:
        yield bad(ABOUT, f"It will not start: {error.what}", error.advice, where=str(place))
        return
    only_view = settings.console_token is None and settings.console_access.tokens is None
    if only_view and settings.console_view_token is not None:
        yield warn(
            ABOUT,
            "Only SLUICE_CONSOLE_VIEW_TOKEN is set: users can view, and cannot act.",
            "Set SLUICE_CONSOLE_TOKEN as well if they should act.",
            where=str(place),
        )
    yield _asked(place, settings)


def _asked(place: ListenAddress, settings: Settings) -> Finding:
    """Request the caller's role from the console, with the token that is known here."""
    token = settings.console_token or settings.console_view_token or kept_token(settings.home)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with closing(
            http.client.HTTPConnection(place.host, place.port, timeout=_ANSWERS_WITHIN_S)
        ) as connection:
            connection.request("GET", _SESSION, headers=headers)
            response = connection.getresponse()
            status, body = response.status, response.read()
    except OSError as error:
        why = error.strerror or str(error)
        return ok(ABOUT, f"It may start; no console answers there now ({why}).", where=str(place))
    except http.client.HTTPException:
        return _another(place)
    if status == HTTPStatus.UNAUTHORIZED and token is None and settings.console_access.tokens is not None:
        return ok(ABOUT, "It answers. These settings have no token to sign in with.", where=str(place))
    if status == HTTPStatus.UNAUTHORIZED:
        return warn(
            ABOUT,
            "A console answers there, and refuses the token of these settings.",
            "Run the doctor with the console's SLUICE_CONSOLE_TOKEN or SLUICE_HOME, or restart the console.",
            where=str(place),
        )
    role = _role(body) if status == HTTPStatus.OK else None
    return ok(ABOUT, f"It answers, with the role `{role}`.", where=str(place)) if role else _another(place)


def _role(body: bytes) -> str | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return str(found["role"]) if isinstance(found, dict) and "role" in found else None


def _another(place: ListenAddress) -> Finding:
    return warn(
        ABOUT,
        "Another program answers there.",
        "Give the console another address: --listen.",
        where=str(place),
    )
