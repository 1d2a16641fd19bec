"""The table of attempts at planning a submission that take long."""

from sqlalchemy import BigInteger, Column, DateTime, Index, Table
from sqlalchemy.dialects.postgresql import UUID

from sluice.ledger.schema import metadata

plan_attempt = Table(
    "plan_attempt",
    metadata,
    Column("submission", BigInteger, primary_key=True, autoincrement=False, comment="its number"),
    Column(
        "worker", UUID(as_uuid=True), primary_key=True, comment="the process that plans it, or died of it"
    ),
    Column("since", DateTime(timezone=True), nullable=False),
    Index("plan_attempt_worker", "worker"),
)
