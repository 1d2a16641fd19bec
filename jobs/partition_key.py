"""The keys of jobs that fill partitions: ``2024-04-01@3f9c21ab``, ``2024-04-01..2024-04-07@3f9c21ab``.

After the ``@`` stands the version of the app, a digest of what it and all that it reads from do. So what was made by
another version is another job, and whoever has the same version shares the job, on whatever branch he is.
"""

from sluice.jobs.calendar import Calendar, Span

_TO = ".."
_OF_VERSION = "@"
#: After a partition that others make: or any later one.
OR_LATER = "+"
#: The key, before its version, of a job that never ends.
UNBOUNDED = "running"


def span_text(calendar: Calendar, span: Span) -> str:
    """How a range is written; one of a single partition is written as that."""
    first = calendar.write(span.first)
    return first if span.first == span.last else f"{first}{_TO}{calendar.write(span.last)}"


def read_span(calendar: Calendar, text: str) -> Span:
    """The range that is written so; ValueError for other texts, and for one that ends before it begins."""
    first, _, last = text.partition(_TO)
    span = Span(calendar.read(first), calendar.read(last or first))
    if span.last < span.first:
        raise ValueError(f"{text!r} ends before it begins")
    return span


def with_version(text: str, version: str) -> str:
    return f"{text}{_OF_VERSION}{version}"


def without_version(key: str) -> tuple[str, str]:
    """The key's own text, and the version, which is empty where it names none."""
    text, _, version = key.partition(_OF_VERSION)
    return text, version


def ends_of(key: str) -> tuple[str, str] | None:
    """The first and the last partition that a job's key names, as they are written in it; None for one that never
    ends."""
    text, _ = without_version(key)
    first, _, last = text.removesuffix(OR_LATER).partition(_TO)
    return None if text == UNBOUNDED else (first, last or first)


def landing_key(calendar: Calendar, partition: int, *, or_later: bool) -> str:
    """The key under which a partition that others make is waited for, or any that is not earlier."""
    return calendar.write(partition) + (OR_LATER if or_later else "")


def read_landing_key(calendar: Calendar, key: str) -> tuple[int, bool]:
    """The partition, and whether any later one does; ValueError for other texts."""
    text = key.removesuffix(OR_LATER)
    return calendar.read(text), text != key
