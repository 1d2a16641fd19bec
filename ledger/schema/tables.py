"""All tables of the ledger, for comparison with the schema of a database."""

from sluice.ledger.schema import fleet_tables, job_tables, notify_tables, saga_tables, stats_tables
from sluice.ledger.schema.job_tables import metadata

__all__ = ["fleet_tables", "job_tables", "metadata", "notify_tables", "saga_tables", "stats_tables"]
