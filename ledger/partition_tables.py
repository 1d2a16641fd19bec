"""The table of partitions: which exist, and which job has to make each missing one."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Index, Integer, Table, Text, text

from sluice.ledger.schema import metadata

# The primary key enforces that no partition is made twice. A partition belongs to one job at a time, and passes to
# another job only after the first one is dead and has not made it.
partition = Table(
    "partition",
    metadata,
    Column("place", Text, primary_key=True, comment="the name of the table that it is a partition of"),
    Column(
        "version",
        Text,
        primary_key=True,
        comment="of the app that fills the table; of one that others fill, the unit of its partitions",
    ),
    Column("partition", Integer, primary_key=True, comment="as jobs.calendar counts them"),
    Column("job", BigInteger, comment="who is to make it, or has; null: it came from elsewhere"),
    Column("done_at", DateTime(timezone=True), comment="when it was made; null: it is not there"),
    CheckConstraint("job IS NOT NULL OR done_at IS NOT NULL", name="partition_made"),
    Index("partition_job", "job", postgresql_where=text("job IS NOT NULL")),
)
