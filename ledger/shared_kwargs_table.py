"""The table of kwargs that jobs refer to by digest."""

from sqlalchemy import Column, DateTime, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from sluice.ledger.schema import metadata

shared_kwargs = Table(
    "shared_kwargs",
    metadata,
    Column("digest", Text, primary_key=True, comment="SHA-256 of their JSON, by which jobs refer to them"),
    Column("kwargs", JSONB, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
)
