"""Known partitions of a table."""

from msgspec import Struct

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.plan import KnownJob


class HeldRange(Struct, frozen=True, gc=False):
    """Range of existing partitions, or of partitions under way.

    A live job (``by``) will make them; if it is None, they exist. ``stale``: they are made from a partition that has
    landed again since, or from a stale partition. Partitions under way that are stale will still be stale when they
    exist.
    """

    span: Span
    by: KnownJob | None = None
    stale: bool = False

    @property
    def is_outdated(self) -> bool:
        """True if the partitions exist and are stale."""
        return self.stale and self.by is None


class KnownExtent(Struct, frozen=True):
    """The earliest partition that exists or has a live job, and the latest that exists and is not stale."""

    first: int | None = None
    last: int | None = None
