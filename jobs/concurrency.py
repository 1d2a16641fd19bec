"""How many jobs may be dispatched at once, and together with which others they are counted: a *pool*."""

from msgspec import Struct


class Concurrency(Struct, frozen=True, kw_only=True):
    """No more than ``limit`` jobs of a pool are ready or running at a time.

    Without more words the pool is the app's own. A ``key`` is a text with values in braces, and each text that it
    comes to is a pool of the app; ``pool`` is the name of one that any app may join.
    """

    limit: int
    key: str | None = None
    pool: str | None = None

    @property
    def is_limit_alone(self) -> bool:
        """Said of an app it makes the pool the app's own; said of a submission it leaves the pool as it is."""
        return self.key is None and self.pool is None
