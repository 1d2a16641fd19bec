"""The tables of sagas: the journals of their flights, the events sent to them, and the progress of their steps."""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB

from sluice.jobs.sagas.journal import Direction, EntryResult
from sluice.ledger.schema.job_tables import metadata


def _one_of(column: str, words: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=f"saga_journal_{column}")


saga_journal = Table(
    "saga_journal",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("flight", Integer, primary_key=True),
    Column("seq", Integer, primary_key=True, comment="1, 2, 3 and so on without gaps"),
    Column("claim", BigInteger, nullable=False, comment="claim under which the entry was written"),
    Column("step", Integer, nullable=False, comment="index of the step"),
    Column("name", Text, nullable=False),
    Column("steps", Integer, nullable=False, comment="number of steps"),
    Column("direction", Text, nullable=False),
    Column("result", Text, nullable=False),
    # JSON and not JSONB, which would turn large fractions into whole numbers.
    Column("working", JSON, nullable=False, comment="complete working map"),
    Column("awaits", JSONB, comment="condition that the next step waits for"),
    Column("event", BigInteger, comment="signal that ended a wait"),
    Column("failure", JSONB, comment="error of the step that failed, or of the undo"),
    Column("note", Text),
    Column("at", DateTime(timezone=True), nullable=False),
    CheckConstraint("seq > 0", name="saga_journal_seq"),
    _one_of("direction", Direction),
    _one_of("result", EntryResult),
    CheckConstraint(f"(result = '{EntryResult.AWAITS}') = (awaits IS NOT NULL)", name="saga_journal_awaits"),
    # Each event ends at most one wait.
    Index("saga_journal_event", "event", unique=True, postgresql_where=text("event IS NOT NULL")),
)

saga_signal = Table(
    "saga_signal",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("job", BigInteger, nullable=False),
    Column("flight", Integer, nullable=False, comment="flight that the signal is for"),
    Column("token", Text, nullable=False, comment="signals with the same token count once"),
    Column("name", Text, comment="event name; null ends any wait"),
    Column("payload", JSONB),
    Column("by", Text, comment="sender"),
    Column("at", DateTime(timezone=True), nullable=False),
    Index("saga_signal_flight", "job", "flight"),
    Index("saga_signal_token", "job", "token", unique=True),
)

saga_signal_early = Table(
    "saga_signal_early",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column("key", Text, nullable=False, comment="key of a job that did not exist yet"),
    Column("token", Text, nullable=False, comment="signals with the same token count once"),
    Column("name", Text, comment="event name; null ends any wait"),
    Column("payload", JSONB),
    Column("by", Text, comment="sender"),
    Column("at", DateTime(timezone=True), nullable=False),
    Index("saga_signal_early_token", "app", "key", "token", unique=True),
)

saga_progress = Table(
    "saga_progress",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("flight", Integer, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("at", DateTime(timezone=True), nullable=False),
)
