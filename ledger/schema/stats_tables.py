"""Tables of counts, of requested acts, of retention, and of restorations.

- ``state_count``, ``state_count_minute``, ``state_duration``, ``transition_count``: counts derived from the history, as
  far as it has been counted (``aggregation_cursor``).
- ``event_counter``: counters of events that leave no row, for example rejected results.
- ``audit``: the acts that were requested in the console or by a command, and their results.
- Retention: which jobs have been pruned (``job``), the position of the sweep (``retention_cursor``), and pending blob
  deletions (``blob_deletion``).
- ``restoration``: restorations to an earlier moment, with the number above which new numbers are issued since.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Identity,
    Index,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from sluice.ledger.schema import storage
from sluice.ledger.schema.job_tables import job, metadata
from sluice.ledger.schema.prunable import HAS_HISTORY

state_count = Table(
    "state_count",
    metadata,
    Column("app", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column("jobs", BigInteger, nullable=False, comment="number of jobs in the state"),
    Column("entered", BigInteger, nullable=False, comment="number of transitions into the state"),
    postgresql_with=storage.COUNTERS,
)

state_count_minute = Table(
    "state_count_minute",
    metadata,
    Column("minute", DateTime(timezone=True), primary_key=True),
    Column("app", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column(
        "entered", BigInteger, nullable=False, comment="number of transitions into the state in this minute"
    ),
)

state_duration = Table(
    "state_duration",
    metadata,
    Column("app", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column(
        "bucket",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="number of shorter entries of ledger.stats.state_counts.BUCKETS_S",
    ),
    Column("stays", BigInteger, nullable=False, comment="number of stays in the state that have ended"),
    Column("seconds", Double, nullable=False, comment="total duration of these stays"),
    postgresql_with=storage.COUNTERS,
)

transition_count = Table(
    "transition_count",
    metadata,
    Column("verb", Text, primary_key=True),
    Column("by", Text, primary_key=True),
    Column(
        "lost",
        Text,
        primary_key=True,
        comment="reason for which a run was taken from its worker; empty if none was",
    ),
    Column("steps", BigInteger, nullable=False),
    postgresql_with=storage.COUNTERS,
)

aggregation_cursor = Table(
    "aggregation_cursor",
    metadata,
    Column("one", Boolean, primary_key=True, comment="always true, so the table has one row"),
    Column("counted", BigInteger, nullable=False, comment="last counted id of a transition"),
    Column(
        "committed", BigInteger, nullable=False, comment="no transition up to this id is still uncommitted"
    ),
    Column("issued", BigInteger, nullable=False, comment="last id that had been issued at the last look"),
    Column(
        "issued_xid",
        BigInteger,
        nullable=False,
        comment="transaction number of the last look",
    ),
    Column("at", DateTime(timezone=True), nullable=False),
    CheckConstraint('"one"', name="aggregation_cursor_one"),
)


event_counter = Table(
    "event_counter",
    metadata,
    Column("name", Text, primary_key=True),
    Column(
        "label",
        Text,
        primary_key=True,
        comment="distinguishes counters of one name; empty if there is only one",
    ),
    Column("count", BigInteger, nullable=False),
    postgresql_with=storage.COUNTERS,
)


audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("token", Text, nullable=False, unique=True, comment="makes a repeated write a no-op"),
    Column("at", DateTime(timezone=True), nullable=False),
    Column(
        "actor",
        Text,
        nullable=False,
        comment="token or user with the address of the request, or the user of a command",
    ),
    Column("action", Text, nullable=False),
    Column("target", JSONB, nullable=False),
    Column("result", JSONB, nullable=False),
)


Index("job_prunable", job.c.changed_at, job.c.id, postgresql_where=text(HAS_HISTORY))

retention_cursor = Table(
    "retention_cursor",
    metadata,
    Column("name", Text, primary_key=True),
    Column("ended_at", DateTime(timezone=True), nullable=False, comment="end of the last examined job"),
    Column("job", BigInteger, nullable=False, comment="id of the last examined job"),
    Column(
        "rests_until", DateTime(timezone=True), nullable=False, comment="no batch is due before this time"
    ),
)

claim_floor = Table(
    "claim_floor",
    metadata,
    Column("one", Boolean, primary_key=True, comment="always true, so the table has one row"),
    Column("claim", BigInteger, nullable=False, comment="largest claim of all removed jobs"),
    CheckConstraint('"one"', name="claim_floor_one"),
)

blob_deletion = Table(
    "blob_deletion",
    metadata,
    Column("blob", Text, primary_key=True, comment="name of a blob of a removed round"),
    Column(
        "next_attempt_at",
        DateTime(timezone=True),
        nullable=False,
        comment="time of the next attempt to delete it",
    ),
    Index("blob_deletion_next_attempt_at", "next_attempt_at"),
    postgresql_with=storage.QUEUE,
)


restoration = Table(
    "restoration",
    metadata,
    Column(
        "id_floor",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="no number up to this one is issued again",
    ),
    Column("at", DateTime(timezone=True), nullable=False),
)
