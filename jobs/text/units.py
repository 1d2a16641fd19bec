"""Durations, instants and sizes as text, and numbers with their nouns.

People write durations and instants, which are parsed here. Sizes are parsed and formatted.
"""

import re
from datetime import UTC, datetime, timedelta

#: Longest accepted duration in seconds: ten years.
DURATION_S_MAX = 10 * 366 * 86_400.0
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
#: Dates without dashes. They look like a number of seconds but are read as dates.
_DAY = re.compile(r"(?:19|20)\d{6}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)")


def parse_duration_s(value: str | float) -> float:
    """Return the seconds of ``"250ms"``, ``"2s"``, ``"1h30m"`` or a number of seconds.

    Raises ValueError with the accepted forms.
    """
    if isinstance(value, bool):
        raise ValueError(_duration_complaint(value))
    seconds = float(value) if isinstance(value, int | float) else _parse_words_s(value.strip())
    if not 0 <= seconds < float("inf"):
        raise ValueError(_duration_complaint(value))
    return seconds


def read_duration_s(value: object) -> float:
    """Return the seconds of a duration in a definition or an answer, at most ten years.

    Raises ValueError with the accepted forms. A longer delay would lead past the last time that the ledger can store.
    """
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if not isinstance(value, str | int | float):
        raise ValueError(f'{value!r} is not a duration; write "10m" or a number of seconds')
    seconds = parse_duration_s(value)
    if seconds > DURATION_S_MAX:
        raise ValueError(f"{value!r} is more than ten years")
    return seconds


def as_duration(span: timedelta) -> str:
    """Return a duration as text. Raises ValueError if it is negative."""
    if span < timedelta(0):
        raise ValueError(f"{span!r} is negative, which is no duration")
    seconds = span / timedelta(seconds=1)
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{seconds:.6f}".rstrip("0") + "s"


def duration_text(seconds: float) -> str:
    """Return the duration as a person would write it, in its longest unit without a fraction: ``15s``, ``90d``."""
    for unit, length_s in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= length_s and seconds % length_s == 0:
            return f"{seconds / length_s:.0f}{unit}"
    return f"{seconds * 1000:.12g}ms" if seconds else "0s"


def duration_s(text: str) -> float:
    """Return the seconds of a duration in a setting or a command's option, which must have a unit.

    Raises ValueError with the accepted forms. A bare number is refused, because ``90`` could be 90 seconds or 90
    days.
    """
    try:
        float(text)
    except ValueError:
        return parse_duration_s(text)
    raise ValueError(f'{text!r} has no unit; write "{text}s", "{text}m", "{text}h" or "{text}d"')


def delay_s(text: str) -> float | None:
    """Return the seconds of a duration with a unit, or None for any other text. ValueError if it is too long."""
    try:
        seconds = duration_s(text)
    except ValueError:
        return None
    return read_duration_s(seconds)


def parse_instant(value: str | float) -> datetime:
    """Return the aware UTC instant of an ISO 8601 text or of Unix seconds. Default time zone: UTC."""
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        # Python raises three kinds of errors for a time out of range.
        raise ValueError(f"{value!r} is not a time; write 2026-11-20T02:00:00Z or Unix seconds") from None


def instant(text: str) -> datetime:
    """Return the instant of an ISO 8601 text or of Unix seconds. Raises ValueError with the accepted forms."""
    try:
        seconds = float(text)
    except ValueError:
        return parse_instant(text)
    return parse_instant(text if _DAY.fullmatch(text) else seconds)


def past(text: str, now: datetime) -> datetime:
    """Return an instant. The text is a time, or a duration before ``now``: ``10m``, ``2h``."""
    try:
        return instant(text)
    except ValueError:
        try:
            return now - timedelta(seconds=parse_duration_s(text))
        except (ValueError, OverflowError):
            raise ValueError(
                f"{text!r} is neither a time nor a duration; write 2026-11-20T02:00:00Z or 10m"
            ) from None


def _parse_words_s(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    if not text or _DURATION.sub("", text).strip():
        raise ValueError(_duration_complaint(text))
    return sum(float(amount) * _UNITS_S[unit] for amount, unit in _DURATION.findall(text))


def _duration_complaint(value: object) -> str:
    return f'{value!r} is not a duration; write "250ms", "2s", "10m", "6h", "1d" or a number of seconds'


_UNITS_BYTES = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGT", start=1)},
    **{f"{prefix}IB": 1024**power for power, prefix in enumerate("KMGT", start=1)},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_ROUND = (
    ("GiB", 1024**3),
    ("GB", 1000**3),
    ("MiB", 1024**2),
    ("MB", 1000**2),
    ("KiB", 1024),
    ("KB", 1000),
)


def parse_size_bytes(value: str | int) -> int:
    """Return the bytes of ``"2GB"``, ``"512MiB"`` or a number of bytes. Raises ValueError with the accepted forms."""
    if isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise ValueError(_size_complaint(value))
    if isinstance(value, int):
        return value
    found = _SIZE.fullmatch(value.strip())
    if found is None or found[2].upper() not in _UNITS_BYTES:
        raise ValueError(_size_complaint(value))
    return int(float(found[1]) * _UNITS_BYTES[found[2].upper()]) if found[2] else _plain(found[1], value)


def size_text(size_bytes: int) -> str:
    """Return the size as a person would write it: ``512 MiB``, ``2 GB``, ``1000001 bytes``."""
    for unit, unit_bytes in _ROUND:
        if size_bytes >= unit_bytes and size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes} {unit}"
    return f"{size_bytes} bytes"


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: ``1 job``, ``2 jobs``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _plain(digits: str, value: str) -> int:
    if "." in digits:
        raise ValueError(_size_complaint(value))
    return int(digits)


def _size_complaint(value: object) -> str:
    return f'{value!r} is not a size; write "2GB", "512MiB" or a number of bytes'
