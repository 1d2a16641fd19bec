"""Known partitions of a table."""

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.plan import KnownJob


class HeldRange(Struct, frozen=True, gc=False):
    """Range of partitions that need not be requested. A live job (``by``) will make them; if it is None, they have
    landed.
    """

    span: Span
    by: KnownJob | None = None


class KnownExtent(Struct, frozen=True):
    """The earliest partition that has landed or has a live job, and the latest that has landed."""

    first: int | None = None
    last: int | None = None
