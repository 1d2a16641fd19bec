"""The tables of schedules: the position of each schedule, and the outcome of each due time."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Identity, Index, Table, Text, text

from sluice.jobs.firing import FiringOutcome
from sluice.ledger.schema import metadata

_OUTCOMES = ", ".join(f"'{outcome}'" for outcome in FiringOutcome)


def _moment(name: str, *, nullable: bool = True, comment: str | None = None) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable, comment=comment)


schedule = Table(
    "schedule",
    metadata,
    Column("id", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("source", Text, nullable=False, comment="whoever loads it decides on this row"),
    Column("digest", Text, nullable=False, comment="of the definition that it goes by"),
    Column("rule", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    _moment("next_due", comment="the first due time that nothing has become of; null: none will come"),
    _moment("fire_at", comment="the same with its jitter"),
    _moment("paused_at"),
    _moment("resumed_at", comment="what was due until then is not made up for"),
    _moment("retired_at", comment="it has left its source"),
    _moment("created_at", nullable=False),
    _moment("changed_at", nullable=False, comment="when its definition was taken up"),
    CheckConstraint("(next_due IS NULL) = (fire_at IS NULL)", name="schedule_due"),
)

firing = Table(
    "firing",
    metadata,
    Column("schedule", Text, primary_key=True),
    Column("due", DateTime(timezone=True), primary_key=True),
    Column("number", BigInteger, Identity(), nullable=False),
    Column("outcome", Text, nullable=False),
    Column("submission", Text, unique=True, comment="its id"),
    _moment("at", nullable=False),
    Column("note", Text),
    CheckConstraint(f"outcome IN ({_OUTCOMES})", name="firing_outcome"),
    CheckConstraint(
        f"(outcome = '{FiringOutcome.FIRED}') = (submission IS NOT NULL)", name="firing_submission"
    ),
    Index("firing_queued", "schedule", postgresql_where=text(f"outcome = '{FiringOutcome.QUEUED}'")),
)
