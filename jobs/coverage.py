"""What is known of the partitions of a table."""

from msgspec import Struct

from sluice.jobs.calendar import Span
from sluice.jobs.known import Known


class Held(Struct, frozen=True, gc=False):
    """Partitions in a row that need not be asked for: a job under way is to make them, or, without one, they are
    there."""

    span: Span
    by: Known | None = None


class Extent(Struct, frozen=True):
    """The earliest partition that anybody knows of, and the latest that is there."""

    first: int | None = None
    last: int | None = None
