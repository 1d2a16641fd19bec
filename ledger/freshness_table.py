"""Table of the age of results, per work ID."""

from sqlalchemy import Column, DateTime, Table, Text

from sluice.ledger.schema import metadata

freshness = Table(
    "freshness",
    metadata,
    Column("app", Text, primary_key=True),
    Column(
        "mark",
        Text,
        primary_key=True,
        comment="the kwargs that the app tells its results apart by; empty where there are none",
    ),
    Column("work_id", Text, primary_key=True),
    Column(
        "at",
        DateTime(timezone=True),
        nullable=False,
        comment="when a chunk with this work ID last succeeded",
    ),
)
