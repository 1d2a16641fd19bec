"""The tables of workers: processes, the mean duration of each app's jobs, and leadership."""

from sqlalchemy import Column, DateTime, Double, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from sluice.ledger.schema import metadata


def _moment(name: str, *, nullable: bool = True, comment: str | None = None) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable, comment=comment)


worker = Table(
    "worker",
    metadata,
    Column("id", UUID(as_uuid=True), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("queues", ARRAY(Text), nullable=False),
    Column(
        "threads",
        Integer,
        nullable=False,
        server_default="1",
        comment="how many jobs it runs at once; 0 for one that runs none",
    ),
    Column("code", Text, comment="the version of the users' code that it has, where it knows it"),
    _moment("started_at", nullable=False),
    _moment("lease_until", nullable=False),
    _moment("left_at"),
    Column("catalogue", Text, comment="digest of its definitions; null for a worker of an earlier version"),
    Column("definitions", JSONB, comment="digest of each app, by name"),
    _moment("definitions_at", comment="since when it goes by them"),
    Column("definitions_problem", Text, comment="why it has not taken up a change"),
    Index("worker_lease", "lease_until"),
)

pace = Table(
    "pace",
    metadata,
    Column("app", Text, primary_key=True),
    Column("mean_s", Double, nullable=False, comment="a moving mean of what one job takes"),
)

pulse = Table(
    "pulse",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", UUID(as_uuid=True)),
    _moment("at", nullable=False),
)
