"""Times as people write and read them. All of them are UTC."""

import re
from datetime import UTC, datetime, timedelta

from jobs.durations import parse_duration_s, parse_instant

#: A day without dashes is no number of seconds, though it looks like one.
_DAY = re.compile(r"(?:19|20)\d{6}")


def moment(at: datetime | None) -> str:
    """``2026-11-20 02:00:00``; nothing for no time."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if at else ""


def precise(at: datetime | None) -> str:
    """The same to the millisecond, for what follows each other fast."""
    return f"{moment(at)}.{at.microsecond // 1000:03}" if at else ""


def span(seconds: float | None) -> str:
    """``25 ms``, ``0.25 s``, ``12.0 s``, ``3 min 20 s``, ``2 h 5 min``, ``1 d 3 h``; nothing for none."""
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
    """``2026-11-20 02:00:00 UTC, 3 min 20 s ago``."""
    return f"{moment(at)} UTC, {span((now - at).total_seconds())} ago"


def instant(text: str) -> datetime:
    """ISO 8601 or Unix seconds; ValueError says what fits."""
    try:
        seconds = float(text)
    except ValueError:
        return parse_instant(text)
    return parse_instant(text if _DAY.fullmatch(text) else seconds)


def past(text: str, now: datetime) -> datetime:
    """An instant, or how long ago: ``10m``, ``2h``."""
    try:
        return instant(text)
    except ValueError:
        try:
            return now - timedelta(seconds=parse_duration_s(text))
        except ValueError:
            raise ValueError(
                f"{text!r} is neither a time nor a duration; write 2026-11-20T02:00:00Z or 10m"
            ) from None


def _short(seconds: float) -> str:
    if seconds < 0.1:
        return f"{max(round(seconds * 1000), 0)} ms"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s".replace(".0 s", " s")
