"""The tables of retention: which jobs have been pruned, the position of the sweep, and pending blob deletions."""

from sqlalchemy import BigInteger, Column, DateTime, Index, Table, Text, text

from sluice.ledger.prunable import HAS_HISTORY
from sluice.ledger.schema import job, metadata

job.append_column(
    Column("pruned_at", DateTime(timezone=True), comment="what had happened to it until then was removed")
)
Index("job_prunable", job.c.changed_at, job.c.id, postgresql_where=text(HAS_HISTORY))

sweep = Table(
    "sweep",
    metadata,
    Column("name", Text, primary_key=True),
    Column("ended_at", DateTime(timezone=True), nullable=False, comment="of the last job that was looked at"),
    Column("job", BigInteger, nullable=False, comment="that one"),
    Column(
        "rests_until", DateTime(timezone=True), nullable=False, comment="until then nobody looks any further"
    ),
)

litter = Table(
    "litter",
    metadata,
    Column("blob", Text, primary_key=True, comment="of a round that was removed"),
    Column("try_at", DateTime(timezone=True), nullable=False, comment="when to throw it away"),
    Index("litter_try_at", "try_at"),
)
