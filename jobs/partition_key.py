"""Keys of jobs that fill partitions: ``2024-04-01@3f9c21ab``, ``2024-04-01..2024-04-07@3f9c21ab``.

After the ``@`` is the app's version: a digest of its definition and of all that it reads from. So another version is
another job, and submissions with the same version share the job, on any branch.
"""

from sluice.jobs.calendar import Calendar, Span

_TO = ".."
_OF_VERSION = "@"
#: Suffix of a key for a partition that external processes make: this partition, or any later one.
OR_LATER = "+"
#: Key, without its version, of a job that never ends.
UNBOUNDED = "running"


def span_text(calendar: Calendar, span: Span) -> str:
    """Return the text of a range. A range of one partition is written as that partition."""
    first = calendar.write(span.first)
    return first if span.first == span.last else f"{first}{_TO}{calendar.write(span.last)}"


def read_span(calendar: Calendar, text: str) -> Span:
    """Return the range with this text. Raises ValueError for any other text, and for a range that ends before it
    begins.
    """
    first, _, last = text.partition(_TO)
    span = Span(calendar.read(first), calendar.read(last or first))
    if span.last < span.first:
        raise ValueError(f"{text!r} ends before it begins")
    return span


def with_version(text: str, version: str) -> str:
    return f"{text}{_OF_VERSION}{version}"


def without_version(key: str) -> tuple[str, str]:
    """Return the key without its version, and the version, which is empty if the key names none."""
    text, _, version = key.partition(_OF_VERSION)
    return text, version


def ends_of(key: str) -> tuple[str, str] | None:
    """Return the first and the last partition that a job's key names, as text. None for a job that never ends."""
    text, _ = without_version(key)
    first, _, last = text.removesuffix(OR_LATER).partition(_TO)
    return None if text == UNBOUNDED else (first, last or first)


def landing_key(calendar: Calendar, partition: int, *, or_later: bool) -> str:
    """Return the key of the job that stands for an external partition, or with ``or_later`` for it or any later one."""
    return calendar.write(partition) + (OR_LATER if or_later else "")


def read_landing_key(calendar: Calendar, key: str) -> tuple[int, bool]:
    """Return the partition, and whether any later one is accepted, too. Raises ValueError for any other text."""
    text = key.removesuffix(OR_LATER)
    return calendar.read(text), text != key
