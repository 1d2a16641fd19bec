"""How often the ledger was restored to an earlier moment, and above which number it gives out its numbers since."""

from sqlalchemy import BigInteger, Column, DateTime, Table

from sluice.ledger.schema import metadata

restoration = Table(
    "restoration",
    metadata,
    Column(
        "above",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="no number up to this one is given out again",
    ),
    Column("at", DateTime(timezone=True), nullable=False),
)
