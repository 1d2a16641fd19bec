"""Table of the numbers that tasks without a key of their own have received."""

from sqlalchemy import BigInteger, Column, Table, Text

from sluice.ledger.schema import metadata

counter = Table(
    "counter",
    metadata,
    Column("app", Text, primary_key=True),
    Column("last", BigInteger, nullable=False, comment="no number up to this one is given out again"),
)
