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
    return CheckConstraint(f"{column} IN ({listed})", name=f"step_{column}")


step = Table(
    "step",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("flight", Integer, primary_key=True),
    Column("seq", Integer, primary_key=True, comment="from 1 on, without gaps"),
    Column("claim", BigInteger, nullable=False, comment="under which it was written"),
    Column("step", Integer, nullable=False, comment="its index"),
    Column("name", Text, nullable=False),
    Column("steps", Integer, nullable=False, comment="of how many it was one"),
    Column("direction", Text, nullable=False),
    Column("mark", Text, nullable=False),
    # JSON and not JSONB, which would turn large fractions into whole numbers.
    Column("working", JSON, nullable=False, comment="the whole of the working map"),
    Column("awaits", JSONB, comment="what the next step waits for"),
    Column("event", BigInteger, comment="the one that has ended a wait"),
    Column("failure", JSONB, comment="of a switch to undo, or of an undo"),
    Column("note", Text),
    Column("at", DateTime(timezone=True), nullable=False),
    CheckConstraint("seq > 0", name="step_seq"),
    _one_of("direction", Direction),
    _one_of("mark", EntryResult),
    CheckConstraint(f"(mark = '{EntryResult.AWAITS}') = (awaits IS NOT NULL)", name="step_awaits"),
    # Each event ends at most one wait.
    Index("step_event", "event", unique=True, postgresql_where=text("event IS NOT NULL")),
)

event = Table(
    "event",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("job", BigInteger, nullable=False),
    Column("flight", Integer, nullable=False, comment="the one that it came for"),
    Column("token", Text, nullable=False, comment="an event that is sent twice with it counts once"),
    Column("name", Text, comment="null: that it goes on, whatever it waits for"),
    Column("payload", JSONB),
    Column("by", Text, comment="who said it"),
    Column("at", DateTime(timezone=True), nullable=False),
    Index("event_flight", "job", "flight"),
    Index("event_token", "job", "token", unique=True),
)

early = Table(
    "early",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column("key", Text, nullable=False, comment="of a job that was not there yet"),
    Column("token", Text, nullable=False, comment="an event that is sent twice with it counts once"),
    Column("name", Text, comment="null: that it goes on, whatever it waits for"),
    Column("payload", JSONB),
    Column("by", Text, comment="who said it"),
    Column("at", DateTime(timezone=True), nullable=False),
    Index("early_token", "app", "key", "token", unique=True),
)

meter = Table(
    "meter",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("flight", Integer, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("at", DateTime(timezone=True), nullable=False),
)
