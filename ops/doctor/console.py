"""Who may ask the console."""

from collections.abc import Iterator

from ops.console.server import Place
from ops.doctor.finding import Finding, bad, ok, warn

ABOUT = "console"
#: A token that is shorter can be guessed by who has the time.
TOKEN_CHARS_MIN = 16


def judge(place: Place, token: str | None) -> Iterator[Finding]:
    """``place`` is where it listens, or is to."""
    if token is None and not place.is_loopback:
        yield bad(
            ABOUT,
            "Others could ask there, and there is no token; it will not start.",
            "Set SLUICE_CONSOLE_TOKEN, or listen at 127.0.0.1.",
            where=str(place),
        )
    elif token is not None and len(token) < TOKEN_CHARS_MIN:
        yield warn(
            ABOUT,
            f"Its token has {len(token)} characters, which can be guessed.",
            "Make one: openssl rand -hex 32",
            where=str(place),
        )
    else:
        who = "this machine alone" if token is None else "who has the token"
        yield ok(ABOUT, f"It answers {who}.", where=str(place))
