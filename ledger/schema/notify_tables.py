"""Tables of notifications.

- ``notification``: one row for each event of a job that a rule may send.
- ``receiver``: the receivers that rules have named, and how they answer.
- ``delivery``: one row for each event and receiver. Rows of pruned events are removed with them.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from sluice.ledger.schema.job_tables import metadata


def _moment(name: str, *, nullable: bool = True, comment: str | None = None) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable, comment=comment)


notification = Table(
    "notification",
    metadata,
    Column("number", BigInteger, Identity(), primary_key=True),
    Column(
        "id",
        UUID(as_uuid=True),
        nullable=False,
        server_default=text("gen_random_uuid()"),
        comment="id of the event, the same in each delivery",
    ),
    Column("job", BigInteger, nullable=False),
    Column("event", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("claim", BigInteger, nullable=False),
    Column("alerts", ARRAY(Text), comment="events from which the job recovers by this one"),
    _moment("at", nullable=False),
    Column(
        "routed",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its deliveries are in the table delivery",
    ),
    Index("notification_job", "job"),
    Index("notification_unrouted", "number", postgresql_where=text("NOT routed")),
)

receiver = Table(
    "receiver",
    metadata,
    Column("number", BigInteger, Identity(), primary_key=True),
    Column(
        "target",
        JSONB,
        nullable=False,
        comment="as the definition has it, with references to secrets",
    ),
    Column("fails", Integer, nullable=False, server_default="0", comment="consecutive failed attempts"),
    _moment("retry_at", comment="no delivery is attempted before; null after a success"),
    UniqueConstraint("target", name="receiver_target"),
)

delivery = Table(
    "delivery",
    metadata,
    Column("number", BigInteger, Identity(), primary_key=True),
    Column("notification", BigInteger, ForeignKey("notification.number", ondelete="CASCADE"), nullable=False),
    Column("receiver", BigInteger, nullable=False),
    Column(
        "submission",
        Text,
        comment="id of the submission whose rule it is; null for a rule of the definition",
    ),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("error", Text, comment="result of the last failed attempt"),
    _moment(
        "next_at", comment="time of the next attempt, or end of the lease of this one; null if it is over"
    ),
    _moment("delivered_at"),
    _moment("dead_at", comment="time at which it was given up"),
    CheckConstraint(
        "(next_at IS NULL) = (delivered_at IS NOT NULL OR dead_at IS NOT NULL)", name="delivery_open"
    ),
    Index("delivery_due", "receiver", "next_at", postgresql_where=text("next_at IS NOT NULL")),
    Index("delivery_dead", "number", postgresql_where=text("dead_at IS NOT NULL")),
    Index("delivery_notification", "notification"),
)
