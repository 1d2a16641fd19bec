"""Table of the acts that people requested in the console, and their results."""

from sqlalchemy import BigInteger, Column, DateTime, Identity, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from sluice.ledger.schema import metadata

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("token", Text, nullable=False, unique=True, comment="an act that is written twice is one"),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("who", Text, nullable=False, comment="his role, and from where he asked"),
    Column("did", Text, nullable=False),
    Column("about", JSONB, nullable=False),
    Column("came_to", JSONB, nullable=False),
)
