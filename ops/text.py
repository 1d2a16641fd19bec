"""Texts for people: users' own text, commands and times.

``legible`` makes users' own text safe to display. ``command`` returns a command to paste into a shell. Times are always
in UTC; ``jobs.text.units`` parses the times that people write.
"""

from datetime import UTC, datetime
from shlex import quote

from sluice.jobs.model.names import JobName


def legible(text: str) -> str:
    """Replace characters that could move the cursor or ring the bell. Keys and errors are users' own text."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def first_line(text: str | None) -> str:
    """Return the first line of an error, without the traceback below it."""
    return (text or "").strip().partition("\n")[0]


def command(words: str, name: JobName) -> str:
    """Return a command about one job, like ``sluice why fetch 20261120_oslo``."""
    return f"sluice {words} {quote(name.app)} {quote(name.key)}"


def moment(at: datetime | None) -> str:
    """Return a time like ``2026-11-20 02:00:00``. Empty for None."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if at else ""


def precise(at: datetime | None) -> str:
    """Return a time with milliseconds, for events in quick succession. Empty for None."""
    return f"{moment(at)}.{at.microsecond // 1000:03}" if at else ""


def span(seconds: float | None) -> str:
    """Return a duration like ``25 ms``, ``0.25 s``, ``12.0 s``, ``3 min 20 s``, ``2 h 5 min`` or ``1 d 3 h``. Empty for
    None.
    """
    if seconds is None:
        return ""
    if seconds < 60:
        return _short(seconds)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def ago(at: datetime, now: datetime) -> str:
    """Return a time and its age, like ``2026-11-20 02:00:00 UTC, 3 min 20 s ago``."""
    return f"{moment(at)} UTC, {span((now - at).total_seconds())} ago"


def _short(seconds: float) -> str:
    if seconds < 0.1:
        return f"{max(round(seconds * 1000), 0)} ms"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s".replace(".0 s", " s")


def apart(stderr: str, output: str) -> str:
    """Return the text of stderr, or nothing if the output has all of it. Functions in threads have it in both."""
    return "" if all(line in output for line in stderr.splitlines()) else stderr
