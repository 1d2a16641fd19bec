"""Tables of workers, schedules, stored definitions, and the state of apps.

- Workers: ``worker`` has the processes, ``app_runtime`` the mean duration of each app's jobs, and ``leader`` the
  leadership.
- Schedules: ``schedule`` has the position of each schedule, and ``firing`` the outcome of each due time.
- Definitions, stored by content: ``app_version`` has the versions of apps, and ``branch`` the versions that each branch
  has.
- Breakers of apps (``breaker``), and the ended rounds that they have not counted yet (``breaker_event``).
- ``app_pause``: paused apps. No worker begins their jobs.
- ``retry_budget``: the remaining retry budgets of apps.
- ``rate_limit``: the rate limits of apps; ``rate_start``: the starts that still count against them.
- ``quota_minute``: the submissions of the present minute, for each tenant with such a quota.
- ``task_sequence``: the numbers that tasks without a key of their own have received.
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
from sluice.ledger.schema import storage
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
        comment="number of jobs it runs at once; 0 if it runs none",
    ),
    Column("code", Text, comment="version of the user's code, if known"),
    _moment("started_at", nullable=False),
    _moment("lease_until", nullable=False),
    _moment("left_at"),
    Column("catalogue", Text, comment="digest of its definitions; null for a worker of an earlier version"),
    Column("definitions", JSONB, comment="digest of each app, by name"),
    _moment("definitions_at", comment="time since which it uses these definitions"),
    Column("definitions_problem", Text, comment="reason why it did not load a change"),
    Index("worker_lease", "lease_until"),
)

app_runtime = Table(
    "app_runtime",
    metadata,
    Column("app", Text, primary_key=True),
    Column("mean_s", Double, nullable=False, comment="moving average of the run time of one job"),
    postgresql_with=storage.COUNTERS,
)

leader = Table(
    "leader",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", UUID(as_uuid=True)),
    _moment("at", nullable=False),
    postgresql_with=storage.COUNTERS,
)


_OUTCOMES = ", ".join(f"'{outcome}'" for outcome in FiringOutcome)


schedule = Table(
    "schedule",
    metadata,
    Column("id", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("source", Text, nullable=False, comment="processes that load this source decide on the row"),
    Column("digest", Text, nullable=False, comment="digest of the definition in use"),
    Column("rule", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    _moment("next_due", comment="first due time without an outcome; null if there is none"),
    _moment("fire_at", comment="next_due with jitter"),
    _moment("paused_at"),
    _moment("resumed_at", comment="due times before this one are not caught up"),
    _moment("retired_at", comment="time at which it was removed from its source"),
    _moment("created_at", nullable=False),
    _moment("changed_at", nullable=False, comment="time at which its definition was loaded"),
    CheckConstraint("(next_due IS NULL) = (fire_at IS NULL)", name="schedule_due"),
)

firing = Table(
    "firing",
    metadata,
    Column("schedule", Text, primary_key=True),
    Column("due", DateTime(timezone=True), primary_key=True),
    Column("number", BigInteger, Identity(), nullable=False),
    Column("outcome", Text, nullable=False),
    Column("submission", Text, unique=True, comment="id of the submission"),
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
    Column(
        "version",
        Text,
        primary_key=True,
        comment="digest of the behaviour of the app and of all apps that it reads from",
    ),
    Column(
        "code",
        Text,
        nullable=False,
        comment="digest of the function that does the work; empty if it has none",
    ),
    Column("options", JSONB, nullable=False, comment="definition of the app, as last loaded in this version"),
    _required_moment("seen_at", "time of the last load"),
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
    Column("confs", JSONB, nullable=False, comment="confs by mode, each with the app at its end"),
    Column("synced_by", Text),
    _required_moment("synced_at", "cached definitions are read again after this time"),
)


breaker = Table(
    "breaker",
    metadata,
    Column("app", Text, primary_key=True),
    Column(
        "fails_max",
        Integer,
        nullable=False,
        comment="number of consecutive failed rounds that open the breaker",
    ),
    Column("pause_s", Double, nullable=False, comment="duration of the first pause"),
    Column("pause_s_max", Double, nullable=False, comment="longest duration of a pause"),
    Column("fails", Integer, nullable=False, comment="consecutive failed rounds that have been counted"),
    CheckConstraint("fails >= 0 AND fails < fails_max", name="breaker_fails"),
)

breaker_event = Table(
    "breaker_event",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column(
        "failed",
        Integer,
        nullable=False,
        comment="number of rounds that one transaction ended with a failure",
    ),
    Column("succeeded", Integer, nullable=False, comment="number of rounds that it ended with a success"),
    Column("error", Text, comment="beginning of the error of one failed round"),
    postgresql_with=storage.QUEUE,
)


app_pause = Table(
    "app_pause",
    metadata,
    Column("app", Text, primary_key=True),
    Column("since", DateTime(timezone=True), nullable=False),
    Column("by", Text, comment="user who paused the app, if known"),
    Column(
        "until",
        DateTime(timezone=True),
        comment="time at which the breaker tries one job; null for a pause by a user",
    ),
    Column("pause_s", Double, comment="duration of the breaker's pause"),
    Column("why", Text, comment="reason for which the breaker opened"),
    Column("trial", BigInteger, comment="job that may be claimed despite the pause"),
    Column("trial_claim", BigInteger, comment="last claim of the trial job before the trial"),
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


rate_limit = Table(
    "rate_limit",
    metadata,
    Column("app", Text, primary_key=True),
    Column("apart_s", Double, nullable=False, comment="seconds in which a token is refilled"),
    Column("burst", Integer, nullable=False, comment="number of tokens of a full bucket"),
)


rate_start = Table(
    "rate_start",
    metadata,
    Column("bucket", Text, primary_key=True),
    Column("id", BigInteger, Identity(), primary_key=True, comment="0 if the row adds up several starts"),
    Column("at", DateTime(timezone=True), nullable=False, comment="time of the last of these starts"),
    Column("tokens", Double, nullable=False, comment="number of tokens that were missing at that time"),
    Index("rate_start_at", "at"),
    postgresql_with=storage.QUEUE,
)


quota_minute = Table(
    "quota_minute",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column(
        "minute", DateTime(timezone=True), nullable=False, comment="beginning of the minute that is counted"
    ),
    Column("submissions", BigInteger, nullable=False, comment="number of submissions in that minute"),
    postgresql_with=storage.COUNTERS,
)


task_sequence = Table(
    "task_sequence",
    metadata,
    Column("app", Text, primary_key=True),
    Column("last", BigInteger, nullable=False, comment="no number up to this one is issued again"),
)


installation = Table(
    "installation",
    metadata,
    Column("one", Boolean, primary_key=True, comment="always true, so the table has one row"),
    Column(
        "id",
        UUID(as_uuid=True),
        nullable=False,
        comment="a copy that runs beside the original needs another id",
    ),
    Column("since", DateTime(timezone=True), nullable=False, comment="time at which the id was assigned"),
    CheckConstraint('"one"', name="installation_one"),
)
