"""Table of paused apps. No worker begins their jobs."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Double, Table, Text

from sluice.ledger.schema import metadata

app_pause = Table(
    "app_pause",
    metadata,
    Column("app", Text, primary_key=True),
    Column("since", DateTime(timezone=True), nullable=False),
    Column("by", Text, comment="who has paused it, where that is known"),
    Column(
        "until", DateTime(timezone=True), comment="when its breaker has one job tried; null of a person's"
    ),
    Column("pause_s", Double, comment="how long its breaker waits for that"),
    Column("why", Text, comment="what its breaker has opened for"),
    Column("trial", BigInteger, comment="the job that may be claimed all the same"),
    Column("trial_claim", BigInteger, comment="the last claim of it before that"),
    CheckConstraint(
        "(until IS NULL) = (pause_s IS NULL) AND (until IS NULL) = (why IS NULL) "
        "AND (trial IS NULL) = (trial_claim IS NULL) AND (trial IS NULL OR until IS NOT NULL)",
        name="app_pause_of_a_breaker",
    ),
)
