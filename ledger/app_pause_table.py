"""The apps whose jobs nobody begins for now."""

from sqlalchemy import Column, DateTime, Table, Text

from ledger.schema import metadata

app_pause = Table(
    "app_pause",
    metadata,
    Column("app", Text, primary_key=True),
    Column("since", DateTime(timezone=True), nullable=False),
    Column("by", Text, comment="who has paused it, where that is known"),
)
