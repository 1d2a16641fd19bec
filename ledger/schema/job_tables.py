"""Tables of submissions, jobs, their dependencies and their history.

Every rule that can be a constraint is one, so a bug causes an error instead of bad data. The hot tables have no foreign
keys. The rows of one job are written together in one transaction and removed together by retention. `sluice db check`
finds orphaned rows.

- Submissions and jobs: ``submission``, ``job``, ``wants``, ``need``, ``gate`` and ``owed``. Partial indexes serve the
  screens that list few rows of large tables: sagas in progress, and submissions that ended badly.
- History of jobs: ``round_`` has their claims by workers, and ``transition`` every step from state to state.
- ``freshness``: the age of results, per work ID.
- ``partition``: the existing partitions, and the job that has to make each missing one.
- ``shared_kwargs``: the kwargs that jobs refer to by digest.
- ``plan_attempt``: the attempts at planning a submission that take long.
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
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID

from sluice.jobs.model.submission import UNFORTUNATE, SubmissionState
from sluice.jobs.states import DISPATCHED, FLYING, RERUNNABLE, TERMINAL, VERBS, State, sql_list
from sluice.ledger.database.transitions import one_of

metadata = MetaData()

_SUBMISSION_STATES = ", ".join(f"'{state}'" for state in SubmissionState)
_DISPATCHED = sql_list(*sorted(DISPATCHED))
_ENDED_STATES = tuple(state for state in State if state in TERMINAL)
_ENDED = sql_list(*_ENDED_STATES)
_COLLECTED = sql_list(*(state for state in State if state in RERUNNABLE))


def _moment(name: str, *, nullable: bool = True, comment: str | None = None) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable, comment=comment)


def _flag(name: str, comment: str) -> Column[object]:
    return Column(name, Boolean, nullable=False, server_default=text("false"), comment=comment)


submission = Table(
    "submission",
    metadata,
    Column("number", BigInteger, Identity(), primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("app", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("request", JSONB, nullable=False),
    Column("push", Boolean, nullable=False),
    Column("reason", Text),
    Column(
        "sentinel",
        BigInteger,
        comment="one job it waits for, to be planned or to end; when that ends it looks again",
    ),
    _moment("look_at", comment="received, and waits to be planned: when that is tried again"),
    _moment("received_at", nullable=False),
    _moment("planned_at"),
    _moment("paused_at", comment="what it alone wants is not begun"),
    _moment("ended_at"),
    Column("message", Text, comment="the id of the message that brought it, if one did"),
    CheckConstraint(f"state IN ({_SUBMISSION_STATES})", name="submission_state"),
    Index(
        "submission_received", "received_at", postgresql_where=text(f"state = '{SubmissionState.RECEIVED}'")
    ),
    Index("submission_active", "sentinel", postgresql_where=text(f"state = '{SubmissionState.ACTIVE}'")),
    Index(
        "submission_waiting",
        "sentinel",
        postgresql_where=text(f"state = '{SubmissionState.RECEIVED}' AND sentinel IS NOT NULL"),
    ),
    Index(
        "submission_succeeded",
        "app",
        "ended_at",
        postgresql_where=text(f"state = '{SubmissionState.SUCCEEDED}'"),
    ),
)

job = Table(
    "job",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("round", Integer, nullable=False, server_default="0"),
    Column("claim", BigInteger, nullable=False, server_default="0", comment="the fencing token"),
    Column("fails", Integer, nullable=False, server_default="0"),
    Column("timeouts", Integer, nullable=False, server_default="0"),
    Column("losses", Integer, nullable=False, server_default="0"),
    _flag("open", "a gate has nothing unmet"),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("max_fails", Integer, nullable=False, server_default="0"),
    Column("max_timeouts", Integer, nullable=False, server_default="0"),
    Column("max_losses", Integer, nullable=False, server_default="0"),
    Column("timeout_s", Double),
    Column("retry", JSONB, comment="the retry rule; null waits for nothing"),
    Column("overrides", JSONB, comment="the policy words of the submission; null has none"),
    Column("kwargs", JSONB, comment="an object; or a text, the digest of those in shared_kwargs"),
    _moment("not_before"),
    _moment("end_before"),
    _moment(
        "urgent_by", comment="the earliest end_before of those who wait for it; orders jobs of one priority"
    ),
    Column("digest", Text, comment="of the definition that its gates come from"),
    Column(
        "handle", JSONB, comment="where a job manager finds what it started; null: it has started nothing"
    ),
    Column("work_ids", JSONB, comment="of a chunk, in parts: a run of numbers by first and last, or a text"),
    Column("mark", Text, comment="of a chunk: under which its freshness is kept"),
    Column("place", Text, comment="of a step: the table whose partitions it makes"),
    _flag("bisect", "once it has failed for good, its halves run in its place"),
    Column("half_of", BigInteger, comment="the job that was split, in whose place it and the other half run"),
    Column("worker", UUID(as_uuid=True)),
    _flag("unbounded", "its work goes on until it is stopped; once that is started no worker holds the job"),
    _moment(
        "watch_at", comment="of work that no worker looks after: when to look how it stands, or to end it"
    ),
    Column("watch_s", Double, comment="how long such work is left alone between two looks"),
    Column("misses", SmallInteger, nullable=False, server_default="0", comment="looks in a row that failed"),
    Column("said", Text, comment="what the last look that had anything to say heard"),
    Column(
        "failing",
        Integer,
        nullable=False,
        server_default="0",
        comment="of unbounded work: fails in a row, without a round between that went on for a while",
    ),
    _flag("paused", "all who want it are paused: it stays waiting"),
    _flag("collect", "once it has ended it is uncollected until somebody archives it"),
    _moment("archived_at", comment="when that was; what it came to stays its state"),
    Column("pool", Text, comment="of which no more than a number may be ready or running; null: of none"),
    Column("pool_limit", Integer, comment="that number, as this job was planned with it"),
    _flag("queued", "it may run, and waits for a slot of its pool"),
    _moment("deadline"),
    _moment("announced_at"),
    Column("announcements", SmallInteger, nullable=False, server_default="0"),
    Column(
        "event", Text, comment="of one that is suspended: what it waits for; null: for anybody to resume it"
    ),
    Column("flight", Integer, nullable=False, server_default="0", comment="of a saga: which flight this is"),
    _flag("flying", "a flight of a saga that has begun: it goes on, or is undone"),
    Column("took_off", BigInteger, comment="of a saga: the claim by which its flight began"),
    Column("turn_back", Text, comment="why that is to be undone though nothing has failed"),
    Column("undoes", BigInteger, comment="of a compensation: the job whose effect it undoes"),
    Column("undoes_claim", BigInteger, comment="the claim under which that had succeeded"),
    _moment("created_at", nullable=False),
    _moment("changed_at", nullable=False),
    UniqueConstraint("app", "key", name="job_name"),
    CheckConstraint(one_of("state", State), name="job_state"),
    CheckConstraint("fails >= 0 AND timeouts >= 0 AND losses >= 0", name="job_counts"),
    CheckConstraint(
        f"round = fails + timeouts + losses OR {one_of('state', _ENDED_STATES)}", name="job_round"
    ),
    CheckConstraint(f"worker IS NULL OR state = '{State.RUNNING}'", name="job_worker"),
    CheckConstraint(
        f"state <> '{State.RUNNING}' OR worker IS NOT NULL OR watch_at IS NOT NULL", name="job_looked_after"
    ),
    CheckConstraint(f"state NOT IN ('{State.READY}', '{State.RUNNING}') OR open", name="job_open"),
    CheckConstraint(f"state <> '{State.READY}' OR NOT paused", name="job_paused"),
    CheckConstraint(f"archived_at IS NULL OR collect AND state IN ({_COLLECTED})", name="job_archived"),
    CheckConstraint("(pool IS NULL) = (pool_limit IS NULL) AND pool_limit > 0", name="job_pool"),
    CheckConstraint(
        f"NOT queued OR state = '{State.WAITING}' AND open AND NOT paused AND pool IS NOT NULL",
        name="job_queued",
    ),
    CheckConstraint(f"NOT flying OR open AND {one_of('state', FLYING)}", name="job_flying"),
    CheckConstraint("(undoes IS NULL) = (undoes_claim IS NULL)", name="job_undoes"),
    Index(
        "job_suspended",
        "not_before",
        postgresql_where=text(f"state = '{State.SUSPENDED}' AND not_before IS NOT NULL"),
    ),
    Index(
        "job_due",
        "not_before",
        postgresql_where=text(f"state = '{State.WAITING}' AND open AND NOT paused AND NOT queued"),
    ),
    # The index has ``id + 0``, an order that no other index has. Otherwise a query for the first hundred uncollected
    # jobs could read all jobs along the primary key.
    Index(
        "job_uncollected",
        "app",
        "state",
        text("(id + 0)"),
        postgresql_where=text(f"collect AND archived_at IS NULL AND state IN ({_COLLECTED})"),
    ),
    # Jobs that hold a slot of a pool, and jobs that wait for one in the order of admission.
    Index("job_slot", "pool", postgresql_where=text(f"pool IS NOT NULL AND state IN ({_DISPATCHED})")),
    Index(
        "job_queue",
        "pool",
        "pool_limit",
        text("(-priority)"),
        text("coalesce(urgent_by, 'infinity')"),
        text("coalesce(not_before, created_at)"),
        "id",
        postgresql_where=text("queued"),
    ),
    Index("job_watch", "watch_at", postgresql_where=text("watch_at IS NOT NULL")),
    Index(
        "job_announced",
        "announced_at",
        postgresql_where=text(f"state IN ('{State.READY}', '{State.EXECUTED}')"),
    ),
    Index("job_running", "worker", postgresql_where=text(f"state = '{State.RUNNING}'")),
    Index(
        "job_deadline",
        "deadline",
        postgresql_where=text(f"state = '{State.RUNNING}' AND deadline IS NOT NULL"),
    ),
    Index(
        "job_end_before",
        "end_before",
        postgresql_where=text(f"end_before IS NOT NULL AND state NOT IN ({_ENDED})"),
    ),
    # The index has ``id + 0``, an order that no other index has. So a query for the newest jobs of an app in a state
    # uses it.
    Index("job_app_state", "app", "state", text("(id + 0)")),
    # The column ``key`` has the collation "C" in this index (see ``job_urgency``), so that prefixes of keys are
    # compared byte by byte.
    Index("job_key", "key", "id"),
    Index(
        "job_shared_kwargs",
        text("(kwargs #>> '{}')"),
        postgresql_where=text("jsonb_typeof(kwargs) = 'string'"),
    ),
    Index("job_undoes", "undoes", postgresql_where=text("undoes IS NOT NULL")),
    Index("job_half_of", "half_of", postgresql_where=text("half_of IS NOT NULL")),
    # The column ``app`` has the collation "C" in this index, which Alembic cannot express. Only queries with this
    # collation use the index, and they can use no other. With statistics from before 100,000 jobs became ready, every
    # other index would look cheap.
    Index(
        "job_urgency",
        "app",
        text("(-priority)"),
        text("coalesce(urgent_by, 'infinity')"),
        text("coalesce(not_before, created_at)"),
        "id",
        postgresql_where=text(f"state COLLATE \"C\" = '{State.READY}'"),
    ),
    # Ready jobs that have a start time. An earlier start time is claimed first if priority and deadline are equal.
    Index(
        "job_start",
        "app",
        text("(-priority)"),
        text("coalesce(urgent_by, 'infinity')"),
        "not_before",
        "id",
        postgresql_where=text(f"state COLLATE \"C\" = '{State.READY}' AND not_before IS NOT NULL"),
    ),
    postgresql_with={"fillfactor": 80},
)

wants = Table(
    "wants",
    metadata,
    Column("submission", BigInteger, primary_key=True),
    Column("job", BigInteger, primary_key=True),
    Column(
        "wish", SmallInteger, nullable=False, comment="0 asked by name, 1 pulled, 2 pushed; see jobs.plan"
    ),
    Index("wants_job", "job"),
)

need = Table(
    "need",
    metadata,
    Column("child", BigInteger, primary_key=True),
    Column("gate", SmallInteger, primary_key=True),
    Column("parent", BigInteger, primary_key=True),
    Column("condition", Text, nullable=False),
    Column("settled", Boolean, comment="null: open; true: met; false: it cannot be met any more"),
    Column("outlived", BigInteger, comment="the claim of the parent whose success was too old"),
    Index("need_parent", "parent"),
    Index("need_running", "parent", postgresql_where=text("condition = 'running' AND settled IS NULL")),
)

gate = Table(
    "gate",
    metadata,
    Column("child", BigInteger, primary_key=True),
    Column("gate", SmallInteger, primary_key=True),
    Column("name", Text, nullable=False),
    Column("unmet", Integer, nullable=False, comment="needs that are not met, dead ones among them"),
    Column("dead", Integer, nullable=False),
    CheckConstraint("unmet >= dead AND dead >= 0", name="gate_counts"),
)

owed = Table(
    "owed",
    metadata,
    Column(
        "job",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="terminal, and its children have not been told",
    ),
    _moment("since", nullable=False),
    Index("owed_since", "since"),
)


_UNFORTUNATE = ", ".join(f"'{state}'" for state in UNFORTUNATE)

Index("job_flights", job.c.id, postgresql_where=text("flying"))
Index(
    "submission_unfortunate",
    submission.c.number,
    postgresql_where=text(f"state IN ({_UNFORTUNATE})"),
)


_LEGAL = sorted({f"{source or '-'} {verb.target}" for verb in VERBS for source in verb.sources})

round_ = Table(
    "round",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("claim", BigInteger, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("worker", UUID(as_uuid=True), nullable=False),
    Column("running_at", DateTime(timezone=True), nullable=False),
    Column("executed_at", DateTime(timezone=True)),
    Column("ending", Text),
    Column(
        "took_s", Double, comment="by the clock of the worker, without the wait for the rest of its parcel"
    ),
    Column("exit_code", Integer),
    Column("digest", Text, comment="of the definition that ran"),
    Column("error", Text),
    Column("output", Text),
    Column("stderr", Text),
    Column("output_blob", Text, comment="the name of the blob that has the whole of it"),
    Column("stderr_blob", Text, comment="name of the blob with all of stderr"),
    Column("log", Text, comment="what its runner had to say, line by line"),
    Column("final", Boolean, comment="the run requested that the job fails without another round"),
    Column("retry_after_s", Double, comment="the delay before the next round, if the run requested one"),
    Column("error_after_commit", Text, comment="what failed after the run had committed its own success"),
    # Partial indexes: most rounds have no blob.
    Index("round_output_blob", "output_blob", postgresql_where=text("output_blob IS NOT NULL")),
    Index("round_stderr_blob", "stderr_blob", postgresql_where=text("stderr_blob IS NOT NULL")),
)

transition = Table(
    "transition",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("job", BigInteger, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("source", Text, nullable=False, comment="- where the row was made"),
    Column("target", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("claim", BigInteger, nullable=False),
    Column("note", Text),
    CheckConstraint(one_of("source || ' ' || target", _LEGAL), name="transition_legal"),
    Index("transition_job", "job", "id"),
)


freshness = Table(
    "freshness",
    metadata,
    Column("app", Text, primary_key=True),
    Column(
        "mark",
        Text,
        primary_key=True,
        comment="the kwargs that the app tells its results apart by; empty where there are none",
    ),
    Column("work_id", Text, primary_key=True),
    Column(
        "at",
        DateTime(timezone=True),
        nullable=False,
        comment="when a chunk with this work ID last succeeded",
    ),
)


# The primary key enforces that no partition is made twice. A partition belongs to one job at a time, and passes to
# another job only after the first one is dead and has not made it.
partition = Table(
    "partition",
    metadata,
    Column("place", Text, primary_key=True, comment="the name of the table that it is a partition of"),
    Column(
        "version",
        Text,
        primary_key=True,
        comment="of the app that fills the table; of one that others fill, the unit of its partitions",
    ),
    Column("partition", Integer, primary_key=True, comment="as jobs.calendar counts them"),
    Column("job", BigInteger, comment="who is to make it, or has; null: it came from elsewhere"),
    Column("done_at", DateTime(timezone=True), comment="when it was made; null: it is not there"),
    CheckConstraint("job IS NOT NULL OR done_at IS NOT NULL", name="partition_made"),
    Index("partition_job", "job", postgresql_where=text("job IS NOT NULL")),
)


shared_kwargs = Table(
    "shared_kwargs",
    metadata,
    Column("digest", Text, primary_key=True, comment="SHA-256 of their JSON, by which jobs refer to them"),
    Column("kwargs", JSONB, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
)


plan_attempt = Table(
    "plan_attempt",
    metadata,
    Column("submission", BigInteger, primary_key=True, autoincrement=False, comment="its number"),
    Column(
        "worker", UUID(as_uuid=True), primary_key=True, comment="the process that plans it, or died of it"
    ),
    Column("since", DateTime(timezone=True), nullable=False),
    Index("plan_attempt_worker", "worker"),
)
