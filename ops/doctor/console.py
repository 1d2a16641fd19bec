"""Who may ask the console."""

from collections.abc import Iterator

from ops.console.server import Place
from ops.doctor.finding import Finding, bad, counted, ok, warn

ABOUT = "console"
#: A token that is shorter can be guessed by who has the time.
TOKEN_CHARS_MIN = 16


def judge(place: Place, *, operate: str | None, view: str | None) -> Iterator[Finding]:
    """``place`` is where it listens, or is to; the tokens are those of its two roles."""
    tokens = {"SLUICE_CONSOLE_TOKEN": operate, "SLUICE_CONSOLE_VIEW_TOKEN": view}
    given = {name: token for name, token in tokens.items() if token is not None}
    if not given and not place.is_loopback:
        yield bad(
            ABOUT,
            "Others could ask there, and there is no token; it will not start.",
            "Set SLUICE_CONSOLE_TOKEN, or listen at 127.0.0.1.",
            where=str(place),
        )
        return
    short = {name: token for name, token in given.items() if len(token) < TOKEN_CHARS_MIN}
    for name, token in short.items():
        yield warn(
            ABOUT,
            f"{name} has {counted(len(token), 'character')}, which can be guessed.",
            "Make one: openssl rand -hex 32",
            where=str(place),
        )
    if operate is None and view is not None:
        yield warn(
            ABOUT,
            "Whoever has the token for looking may look, and nobody may do anything.",
            "Set SLUICE_CONSOLE_TOKEN as well, if somebody is to.",
            where=str(place),
        )
    elif not short:
        who = "who has a token" if given else "this machine alone"
        yield ok(ABOUT, f"It answers {who}.", where=str(place))
