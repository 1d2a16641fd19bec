"""The table of restorations to an earlier moment, with the number above which new numbers are issued since."""

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
