"""Every table of the ledger, for whoever compares them with what a database has."""

from ledger import (
    app_pause_table,
    audit_tables,
    breaker_tables,
    counter_table,
    freshness_table,
    happening_tables,
    history_tables,
    part_indexes,
    partition_tables,
    restoration_table,
    retention_tables,
    retry_budget_table,
    saga_tables,
    schedule_tables,
    tally_tables,
    version_tables,
    worker_tables,
)
from ledger.schema import metadata

__all__ = [
    "app_pause_table",
    "audit_tables",
    "breaker_tables",
    "counter_table",
    "freshness_table",
    "happening_tables",
    "history_tables",
    "metadata",
    "part_indexes",
    "partition_tables",
    "restoration_table",
    "retention_tables",
    "retry_budget_table",
    "saga_tables",
    "schedule_tables",
    "tally_tables",
    "version_tables",
    "worker_tables",
]
