"""The table of partitions: which are there, and whose it is to make the others."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Index, Integer, Table, Text, text

from sluice.ledger.schema import metadata

# So the rule that no partition is made twice is a primary key: it belongs to one job at a time, and to another only
# once that one is dead and has not made it.
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
