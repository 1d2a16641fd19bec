"""Knowledge of a ledger without partitions."""

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.partition_state import HeldRange, KnownExtent


class NoPartitions:
    def held(self, table: str, version: str, within: Span) -> list[HeldRange]:
        return []

    existing = held

    def extent(self, table: str, version: str) -> KnownExtent:
        return KnownExtent(None, None)
