"""Tables of counts, of requested acts, of retention, and of restorations.

- ``tally``, ``tally_minute``, ``tally_stay``, ``tally_verb``: counts derived from the history, as far as it has been
  counted (``tally_place``).
- ``happening``: counters of events that leave no row, for example rejected results.
- ``audit``: the acts that people requested in the console, and their results.
- Retention: which jobs have been pruned (``job``), the position of the sweep (``sweep``), and pending blob deletions
  (``litter``).
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

from sluice.ledger.retention.prunable import HAS_HISTORY
from sluice.ledger.schema.job_tables import job, metadata

tally = Table(
    "tally",
    metadata,
    Column("app", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column("jobs", BigInteger, nullable=False, comment="that were in the state"),
    Column("entered", BigInteger, nullable=False, comment="how often a job came into it"),
)

tally_minute = Table(
    "tally_minute",
    metadata,
    Column("minute", DateTime(timezone=True), primary_key=True),
    Column("app", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column("entered", BigInteger, nullable=False, comment="how often a job came into it in that minute"),
)

tally_stay = Table(
    "tally_stay",
    metadata,
    Column("app", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    Column(
        "bucket",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="how many of ledger.tallies.BUCKETS_S are shorter",
    ),
    Column("stays", BigInteger, nullable=False, comment="in the state, that have ended"),
    Column("seconds", Double, nullable=False, comment="of all of them together"),
)

tally_verb = Table(
    "tally_verb",
    metadata,
    Column("verb", Text, primary_key=True),
    Column("by", Text, primary_key=True),
    Column(
        "lost", Text, primary_key=True, comment="why a run was taken from its worker; empty where none was"
    ),
    Column("steps", BigInteger, nullable=False),
)

tally_place = Table(
    "tally_place",
    metadata,
    Column("one", Boolean, primary_key=True, comment="there is one row"),
    Column("counted", BigInteger, nullable=False, comment="all transitions up to this id are counted"),
    Column("settled", BigInteger, nullable=False, comment="none up to this id is yet to be committed"),
    Column(
        "mark", BigInteger, nullable=False, comment="the last id that was given out when that was looked at"
    ),
    Column(
        "mark_xid",
        BigInteger,
        nullable=False,
        comment="the number of the transaction that looked",
    ),
    Column("at", DateTime(timezone=True), nullable=False),
    CheckConstraint('"one"', name="tally_place_one"),
)


happening = Table(
    "happening",
    metadata,
    Column("what", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="which of several; empty where there is one"),
    Column("times", BigInteger, nullable=False),
)


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


job.append_column(
    Column("pruned_at", DateTime(timezone=True), comment="what had happened to it until then was removed")
)
Index("job_prunable", job.c.changed_at, job.c.id, postgresql_where=text(HAS_HISTORY))

sweep = Table(
    "sweep",
    metadata,
    Column("name", Text, primary_key=True),
    Column("ended_at", DateTime(timezone=True), nullable=False, comment="of the last job that was looked at"),
    Column("job", BigInteger, nullable=False, comment="that one"),
    Column("rests_until", DateTime(timezone=True), nullable=False, comment="no step is due before this time"),
)

litter = Table(
    "litter",
    metadata,
    Column("blob", Text, primary_key=True, comment="of a round that was removed"),
    Column("try_at", DateTime(timezone=True), nullable=False, comment="when to throw it away"),
    Index("litter_try_at", "try_at"),
)


restoration = Table(
    "restoration",
    metadata,
    Column(
        "above",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="no number up to this one is given out again",
    ),
    Column("at", DateTime(timezone=True), nullable=False),
)
