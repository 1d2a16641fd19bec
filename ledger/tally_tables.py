"""The tables of counts derived from the history, as far as it has been counted."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    SmallInteger,
    Table,
    Text,
)

from sluice.ledger.schema import metadata

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
