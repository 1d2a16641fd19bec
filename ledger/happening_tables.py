"""Table of the counters of events that leave no row, for example rejected results."""

from sqlalchemy import BigInteger, Column, Table, Text

from sluice.ledger.schema import metadata

happening = Table(
    "happening",
    metadata,
    Column("what", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="which of several; empty where there is one"),
    Column("times", BigInteger, nullable=False),
)
