"""Tables of workers, schedules, stored definitions, and the state of apps.

- Workers: ``worker`` has the processes, ``pace`` the mean duration of each app's jobs, and ``pulse`` the leadership.
- Schedules: ``schedule`` has the position of each schedule, and ``firing`` the outcome of each due time.
- Definitions, stored by content: ``app_version`` has the versions of apps, and ``branch`` the versions that each branch
  has.
- Breakers of apps (``breaker``), and the ended rounds that they have not counted yet (``breaker_news``).
- ``app_pause``: paused apps. No worker begins their jobs.
- ``retry_budget``: the remaining retry budgets of apps.
- ``counter``: the numbers that tasks without a key of their own have received.
- ``installation``: the identity of the installation to which the ledger belongs.
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
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from sluice.jobs.schedules.schedule import FiringOutcome
from sluice.ledger.schema.job_tables import metadata


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


_OUTCOMES = ", ".join(f"'{outcome}'" for outcome in FiringOutcome)


schedule = Table(
    "schedule",
    metadata,
    Column("id", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("source", Text, nullable=False, comment="processes that load this source decide on the row"),
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


def _required_moment(name: str, comment: str) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, comment=comment)


app_version = Table(
    "app_version",
    metadata,
    Column("app", Text, primary_key=True),
    Column("version", Text, primary_key=True, comment="of what it and all that it reads from do"),
    Column(
        "code", Text, nullable=False, comment="a digest of the function that does its work; empty for none"
    ),
    Column("words", JSONB, nullable=False, comment="its definition, as it was last seen in this version"),
    _required_moment("seen_at", "when that was"),
)

branch = Table(
    "branch",
    metadata,
    Column("branch", Text, primary_key=True),
    Column("app", Text, primary_key=True),
    Column("version", Text, nullable=False),
)

branch_sync = Table(
    "branch_sync",
    metadata,
    Column("branch", Text, primary_key=True),
    Column("confs", JSONB, nullable=False, comment="each with the app that it ends in, by mode"),
    Column("synced_by", Text),
    _required_moment("synced_at", "cached definitions are read again after this time"),
)


breaker = Table(
    "breaker",
    metadata,
    Column("app", Text, primary_key=True),
    Column("fails_max", Integer, nullable=False, comment="so many failed rounds in a row open it"),
    Column("pause_s", Double, nullable=False, comment="how long its first pause lasts"),
    Column("pause_s_max", Double, nullable=False, comment="how long any of them lasts at the most"),
    Column("fails", Integer, nullable=False, comment="in a row, as far as they are counted"),
    CheckConstraint("fails >= 0 AND fails < fails_max", name="breaker_fails"),
)

breaker_news = Table(
    "breaker_news",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column("failed", Integer, nullable=False, comment="rounds that one transaction has ended so"),
    Column("succeeded", Integer, nullable=False, comment="number of succeeded rounds"),
    Column("error", Text, comment="the beginning of what one of the failed ones said"),
)


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


retry_budget = Table(
    "retry_budget",
    metadata,
    Column("app", Text, primary_key=True),
    Column(
        "full_at",
        DateTime(timezone=True),
        nullable=False,
        comment="time at which it is full if no retry takes from it",
    ),
)


counter = Table(
    "counter",
    metadata,
    Column("app", Text, primary_key=True),
    Column("last", BigInteger, nullable=False, comment="no number up to this one is given out again"),
)


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
