"""The keys of jobs that fill partitions: ``2024-04-01@3f9c21ab``, ``2024-04-01..2024-04-07@3f9c21ab``.

After the ``@`` stands the version of the app, a digest of what it and all that it reads from do. So what was made by
another version is another job, and whoever has the same version shares the job, on whatever branch he is.
"""

from jobs.calendar import Calendar, Span

_TO = ".."
_OF_VERSION = "@"
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
