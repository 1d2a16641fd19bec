"""Identity of the installation to which the ledger belongs."""

from sqlalchemy import Boolean, CheckConstraint, Column, DateTime, Table
from sqlalchemy.dialects.postgresql import UUID

from sluice.ledger.schema import metadata

installation = Table(
    "installation",
    metadata,
    Column("one", Boolean, primary_key=True, comment="there is one row"),
    Column(
        "id",
        UUID(as_uuid=True),
        nullable=False,
        comment="a copy that runs beside its original needs another one",
    ),
    Column("since", DateTime(timezone=True), nullable=False, comment="when it was given this id"),
    CheckConstraint('"one"', name="installation_one"),
)
