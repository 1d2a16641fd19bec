"""Concurrency limits: how many jobs of a *pool* may be dispatched at the same time."""

from msgspec import Struct


class Concurrency(Struct, frozen=True, kw_only=True):
    """Pool of a job and its limit: at most ``limit`` jobs of a pool are ready or running at a time.

    By default the pool is the app's own. ``key`` is a text with placeholders in braces; each text that results is a
    pool of the app. ``pool`` is the name of a pool that any app may join.
    """

    limit: int
    key: str | None = None
    pool: str | None = None

    @property
    def is_limit_alone(self) -> bool:
        """True if only the limit is set. For an app this selects the app's own pool; a submission keeps its pool."""
        return self.key is None and self.pool is None
