"""Tables of submissions, jobs, their dependencies and their history.

Every rule that can be a constraint is one, so a bug causes an error instead of bad data. The hot tables have no foreign
keys. The rows of one job are written together in one transaction and removed together by retention. `sluice db check`
finds orphaned rows.

- Submissions and jobs: ``submission``, ``job``, ``submission_job``, ``need``, ``gate`` and ``propagation_outbox``.
  Partial indexes serve the screens that list few rows of large tables: sagas in progress, and submissions that ended
  badly.
- History of jobs: ``round_`` has their claims by workers, and ``history`` their transitions
  (``ledger.database.history``).
- ``freshness``: the age of results, per work ID.
- ``partition``: the existing partitions, and the job that has to make each missing one.
- ``shared_kwargs``: the kwargs that jobs refer to by digest.
- ``expansion``: the jobs that a successful job adds to its submissions.
- ``plan_attempt``: the attempts at planning a submission that take long.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    Double,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    event,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from sluice.jobs.model.submission import UNFORTUNATE, SubmissionState
from sluice.jobs.states import DISPATCHED, RERUNNABLE, TERMINAL, State, sql_list
from sluice.ledger.database.history import CHECK, check_definition
from sluice.ledger.database.state_ranges import LASTING
from sluice.ledger.database.transitions import BUCKET, TIME_LIMIT
from sluice.ledger.schema import job_rules, storage

metadata = MetaData()

_SUBMISSION_STATES = ", ".join(f"'{state}'" for state in SubmissionState)
_RECEIVED = f"state COLLATE \"C\" = '{SubmissionState.RECEIVED}'"
_DISPATCHED = sql_list(*sorted(DISPATCHED))
_ENDED = sql_list(*(state for state in State if state in TERMINAL))
_COLLECTED = sql_list(*(state for state in State if state in RERUNNABLE))


def _moment(name: str, *, nullable: bool = True, comment: str | None = None) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable, comment=comment)


def _make_before(table: Table, function: str) -> None:
    """Make the function of a CHECK before the table."""

    @event.listens_for(table, "before_create")
    def make(_: Table, connection: Connection, **__: object) -> None:
        connection.exec_driver_sql(function)


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
        "blocking_job",
        BigInteger,
        comment="one job whose end the submission waits for; then it is checked again",
    ),
    _moment("next_plan_at", comment="time of the next planning attempt, while it is received"),
    _moment("received_at", nullable=False),
    _moment("planned_at"),
    _moment("paused_at", comment="jobs that only paused submissions request are not started"),
    _moment("ended_at"),
    Column("message", Text, comment="id of the message that submitted it, if any"),
    _flag("awaited", "a client waits for its end, which is notified"),
    Column(
        "notify", JSONB, comment="rules that notify receivers of its jobs' events; null if there are none"
    ),
    CheckConstraint(f"state IN ({_SUBMISSION_STATES})", name="submission_state"),
    # In the order in which planners take submissions. Without ``number``, Postgres would read and sort all that wait,
    # as long as its statistics are from before they arrived.
    Index(
        "submission_received",
        "received_at",
        "number",
        postgresql_where=text(f"state = '{SubmissionState.RECEIVED}'"),
    ),
    # Only the queries of these two indexes compare the state with the collation "C", so they can use no other partial
    # index. With statistics from before 100,000 submissions arrived, every other one would look cheap.
    Index(
        "submission_received_app",
        text("left(app, 255)"),
        "received_at",
        "number",
        postgresql_where=text(f"{_RECEIVED} AND paused_at IS NULL AND next_plan_at IS NULL"),
    ),
    Index(
        "submission_put_off",
        "next_plan_at",
        postgresql_where=text(f"{_RECEIVED} AND next_plan_at IS NOT NULL"),
    ),
    Index("submission_active", "blocking_job", postgresql_where=text(f"state = '{SubmissionState.ACTIVE}'")),
    Index(
        "submission_waiting",
        "blocking_job",
        postgresql_where=text(f"state = '{SubmissionState.RECEIVED}' AND blocking_job IS NOT NULL"),
    ),
    # The app of a refused submission may be any text, and an index entry has at most 2,704 bytes.
    Index(
        "submission_refused",
        text("left(app, 255)"),
        "number",
        postgresql_where=text(f"state = '{SubmissionState.REFUSED}'"),
    ),
    Index(
        "submission_succeeded",
        "app",
        "ended_at",
        postgresql_where=text(f"state = '{SubmissionState.SUCCEEDED}'"),
    ),
    postgresql_with=storage.CHANGED,
)

job = Table(
    "job",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("round", Integer, nullable=False, server_default="0"),
    Column("claim", BigInteger, nullable=False, server_default="0", comment="fencing token"),
    Column("fails", Integer, nullable=False, server_default="0"),
    Column("timeouts", Integer, nullable=False, server_default="0"),
    Column("losses", Integer, nullable=False, server_default="0"),
    _flag("unblocked", "a gate has no unmet needs, or the job has no gate"),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("max_fails", Integer, nullable=False, server_default="0"),
    Column("max_timeouts", Integer, nullable=False, server_default="0"),
    Column("max_losses", Integer, nullable=False, server_default="0"),
    Column("timeout_s", Double),
    Column("retry", JSONB, comment="retry rule; null retries at once"),
    Column("overrides", JSONB, comment="policy options of the submission; null if it has none"),
    Column("kwargs", JSONB, comment="an object, or the digest of a row of shared_kwargs"),
    _moment("not_before"),
    _moment("end_before"),
    _moment(
        "effective_deadline",
        comment="earliest end_before of this job and of the jobs that wait for it",
    ),
    Column("digest", Text, comment="digest of the definition that the gates come from"),
    Column("handle", JSONB, comment="handle of external work; null if none was started"),
    Column("work_ids", JSONB, comment="work IDs of a chunk: ranges by first and last number, or texts"),
    Column("freshness_scope", Text, comment="freshness scope of a chunk"),
    Column("output_table", Text, comment="table whose partitions this step makes"),
    _flag("bisect", "if the job fails for good, its halves run in its place"),
    Column(
        "bisected_from",
        BigInteger,
        comment="split job in whose place this job and the other half run",
    ),
    Column("worker", UUID(as_uuid=True)),
    _flag("unbounded", "long-running service: no worker holds the job once it was started"),
    _moment("next_poll_at", comment="next poll of external work, or next attempt to end it"),
    Column("poll_interval_s", Double, comment="seconds between two polls"),
    Column(
        "failed_polls",
        SmallInteger,
        nullable=False,
        server_default="0",
        comment="number of consecutive failed polls",
    ),
    Column("external_status", Text, comment="last status that a poll returned"),
    Column(
        "consecutive_fails",
        Integer,
        nullable=False,
        server_default="0",
        comment="consecutive failures of a long-running service without a healthy round",
    ),
    _flag("paused", "all submissions that request the job are paused"),
    _flag("needs_collection", "the finished job is uncollected until it is archived"),
    _moment("archived_at", comment="time of the archiving; the outcome stays in state"),
    Column("pool", Text, comment="pool that limits the number of ready and running jobs; null if none"),
    Column("pool_limit", Integer, comment="limit of the pool when the job was planned"),
    Column("rate_bucket", Text, comment="token bucket that limits the starts of the job; null if none"),
    _flag(
        "waiting_for_slot",
        "the job may run, and waits for admission to its pool: a slot, and a token of its bucket",
    ),
    _moment("attempt_timeout_at"),
    _moment("dispatched_at"),
    Column("dispatch_attempts", SmallInteger, nullable=False, server_default="0"),
    Column("event", Text, comment="event that a suspended job waits for; null accepts any event"),
    Column(
        "flight",
        Integer,
        nullable=False,
        server_default="0",
        comment="number of the current flight of a saga",
    ),
    _flag("saga_open", "a flight has begun and has neither ended nor been undone"),
    Column("saga_first_claim", BigInteger, comment="claim under which the flight began"),
    Column("abort_reason", Text, comment="reason for undoing a flight in which nothing has failed"),
    Column("undoes", BigInteger, comment="compensation: job whose effect this job undoes"),
    Column("undoes_claim", BigInteger, comment="compensation: claim under which that job succeeded"),
    Column("notify", JSONB, comment="rules of its definition that notify receivers; null if it has none"),
    Column("notify_on", ARRAY(Text), comment="events that any rule may send; null if there are none"),
    Column("alerts", ARRAY(Text), comment="events from which the job has not recovered yet"),
    _moment("late_at", comment="time from which it is late; null if it has no due_within"),
    _flag("late", "its lateness was noticed"),
    Column("due_within_s", Double, comment="seconds that a rerun has before it is late"),
    _moment("created_at", nullable=False),
    _moment("changed_at", nullable=False),
    _moment("pruned_at", comment="history before this time was removed"),
    _moment("begun_at", comment="begin of the last run of which the history was removed"),
    Column(
        "expansion",
        Text,
        comment="its success adds jobs: open if these are not planned yet; null if it never did",
    ),
    CheckConstraint(job_rules.CHECK, name="job_rules"),
    # The names of jobs. The keys of an app are in the order of their bytes, so a prefix of keys is a range. Comparisons
    # with = use the index too, in any collation.
    Index("job_name", "app", "key", unique=True, postgresql_ops={"key": "text_pattern_ops"}),
    # Jobs that become ready, or are resumed, at a time.
    Index(
        "job_not_before",
        "not_before",
        postgresql_where=text(
            f"state = '{State.WAITING}' AND unblocked AND NOT paused AND NOT waiting_for_slot"
            f" OR state = '{State.SUSPENDED}' AND not_before IS NOT NULL"
        ),
    ),
    # The index has ``id + 0``, an order that no other index has. Otherwise a query for the first hundred uncollected
    # jobs could read all jobs along the primary key.
    Index(
        "job_uncollected",
        "app",
        "state",
        text("(id + 0)"),
        postgresql_where=text(f"needs_collection AND archived_at IS NULL AND state IN ({_COLLECTED})"),
    ),
    # Jobs that hold a slot of a pool, and jobs that wait for one in the order of admission.
    Index("job_slot", "pool", postgresql_where=text(f"pool IS NOT NULL AND state IN ({_DISPATCHED})")),
    Index(
        "job_slot_queue",
        "pool",
        "pool_limit",
        text(f"({BUCKET})"),
        text("(-priority)"),
        text("coalesce(effective_deadline, 'infinity')"),
        text("coalesce(not_before, created_at)"),
        "id",
        postgresql_where=text("waiting_for_slot"),
    ),
    # Jobs that wait for a token or have one reserved.
    Index(
        "job_rate",
        "rate_bucket",
        "state",
        postgresql_where=text(
            f"rate_bucket IS NOT NULL AND NOT saga_open AND (waiting_for_slot OR state = '{State.READY}')"
        ),
    ),
    Index(
        "job_time_limit",
        text(f"({TIME_LIMIT})"),
        postgresql_where=text(f"(end_before IS NOT NULL OR late_at IS NOT NULL) AND state NOT IN ({_ENDED})"),
    ),
    # Open sagas, and jobs that are or were late: two ranges in the order of ids.
    Index("job_open_or_late", "saga_open", "id", postgresql_where=text("saga_open OR late")),
    Index("job_next_poll", "next_poll_at", postgresql_where=text("next_poll_at IS NOT NULL")),
    Index(
        "job_dispatched",
        "state",
        "dispatched_at",
        postgresql_where=text(f"state IN ('{State.READY}', '{State.EXECUTED}')"),
    ),
    Index("job_running", "worker", postgresql_where=text(f"state = '{State.RUNNING}'")),
    # The index has ``id + 0``, an order that no other index has. So a query for the newest jobs of an app in a state
    # uses it. Jobs in states of a short time are found by other indexes (``ledger.database.state_ranges``).
    Index("job_app_state", "app", "state", text("(id + 0)"), postgresql_where=text(LASTING)),
    Index(
        "job_shared_kwargs",
        text("(kwargs #>> '{}')"),
        postgresql_where=text("jsonb_typeof(kwargs) = 'string'"),
    ),
    Index("job_undoes", "undoes", postgresql_where=text("undoes IS NOT NULL")),
    Index("job_bisected_from", "bisected_from", postgresql_where=text("bisected_from IS NOT NULL")),
    # The column ``app`` has the collation "C" in this index, which Alembic cannot express. Only queries with this
    # collation use the index, and they can use no other. With statistics from before 100,000 jobs became ready, every
    # other index would look cheap.
    Index(
        "job_urgency",
        "app",
        text("(-priority)"),
        text("coalesce(effective_deadline, 'infinity')"),
        text("coalesce(not_before, created_at)"),
        "id",
        postgresql_where=text(f"state COLLATE \"C\" = '{State.READY}'"),
    ),
    # Ready jobs that have a start time. An earlier start time is claimed first if priority and deadline are equal.
    Index(
        "job_start",
        "app",
        text("(-priority)"),
        text("coalesce(effective_deadline, 'infinity')"),
        "not_before",
        "id",
        postgresql_where=text(f"state COLLATE \"C\" = '{State.READY}' AND not_before IS NOT NULL"),
    ),
    postgresql_with={"fillfactor": 80, **storage.CHANGED},
)
_make_before(job, job_rules.definition())

submission_job = Table(
    "submission_job",
    metadata,
    Column("submission", BigInteger, primary_key=True),
    Column("job", BigInteger, primary_key=True),
    Column(
        "request_reason",
        SmallInteger,
        nullable=False,
        comment="0 asked by name, 1 pulled, 2 pushed; see jobs.model.plan",
    ),
    Index("submission_job_job", "job"),
    postgresql_with=storage.ADDED,
)

need = Table(
    "need",
    metadata,
    Column("child", BigInteger, primary_key=True),
    Column("gate", SmallInteger, primary_key=True),
    Column("parent", BigInteger, primary_key=True),
    Column("condition", Text, nullable=False),
    Column("met", Boolean, comment="null: open; true: met; false: cannot be met any more"),
    Column("stale_claim", BigInteger, comment="claim of a success of the parent that is too old"),
    _flag("added", "added by the parent or by an earlier parent, and not defined by the app"),
    Index("need_parent", "parent"),
    Index("need_added_child", "child", postgresql_where=text("added")),
    Index("need_added_parent", "parent", postgresql_where=text("added")),
    Index("need_running", "parent", postgresql_where=text("condition = 'running'")),
    postgresql_with={"fillfactor": 90, **storage.CHANGED},
)

gate = Table(
    "gate",
    metadata,
    Column("child", BigInteger, primary_key=True),
    Column("gate", SmallInteger, primary_key=True),
    Column("name", Text, nullable=False),
    Column(
        "unmet",
        Integer,
        nullable=False,
        comment="number of needs that are not met, including impossible ones",
    ),
    Column("impossible", Integer, nullable=False),
    CheckConstraint("unmet >= impossible AND impossible >= 0", name="gate_counts"),
    postgresql_with={"fillfactor": 90, **storage.CHANGED},
)

propagation_outbox = Table(
    "propagation_outbox",
    metadata,
    Column(
        "job",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="finished job whose end has not been propagated to its children",
    ),
    _moment("since", nullable=False),
    Index("propagation_outbox_since", "since"),
    postgresql_with=storage.QUEUE,
)


expansion = Table(
    "expansion",
    metadata,
    Column("job", BigInteger, primary_key=True, autoincrement=False),
    Column("claim", BigInteger, nullable=False, comment="claim whose success adds the jobs"),
    Column("body", JSONB, comment="the added jobs; null once they are planned"),
)


_UNFORTUNATE = ", ".join(f"'{state}'" for state in UNFORTUNATE)

Index(
    "submission_unfortunate",
    submission.c.number,
    postgresql_where=text(f"state IN ({_UNFORTUNATE})"),
)


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
    Column("took_s", Double, comment="duration of the work by the worker's clock, without waits in a batch"),
    Column("exit_code", Integer),
    Column("digest", Text, comment="digest of the definition that ran"),
    Column("error", Text),
    Column("output", Text),
    Column("stderr", Text),
    Column("output_blob", Text, comment="name of the blob with the whole output"),
    Column("stderr_blob", Text, comment="name of the blob with all of stderr"),
    Column("log", Text, comment="messages of the runner, one per line"),
    Column("result", Text, comment="value that the function returned, as JSON"),
    Column("result_blob", Text, comment="name of the blob with the value, if it is too long for the ledger"),
    Column(
        "result_pending",
        Boolean,
        comment="the run has committed its success, and its function has not returned yet",
    ),
    Column("final", Boolean, comment="the run requested that the job fails without another round"),
    Column("retry_after_s", Double, comment="the delay before the next round, if the run requested one"),
    Column(
        "error_after_commit", Text, comment="error that was raised after the run had committed its success"
    ),
    # Partial indexes: most rounds have no blob.
    Index("round_output_blob", "output_blob", postgresql_where=text("output_blob IS NOT NULL")),
    Index("round_stderr_blob", "stderr_blob", postgresql_where=text("stderr_blob IS NOT NULL")),
    Index("round_result_blob", "result_blob", postgresql_where=text("result_blob IS NOT NULL")),
    # The rounds of a batch fill their pages together, and end together.
    postgresql_with={"fillfactor": 55, **storage.CHANGED},
)

history = Table(
    "history",
    metadata,
    Column("id", BigInteger, Identity(increment=2), primary_key=True),
    Column("job", BigInteger, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("round", Integer, nullable=False),
    Column(
        "kind", Integer, nullable=False, comment="its transitions, and who carried them out: see history_kind"
    ),
    Column("claim", BigInteger, nullable=False, comment="claim after its last transition"),
    Column("claim_before", BigInteger, comment="claim after the first of two transitions, if it differs"),
    Column("note", Text),
    CheckConstraint(CHECK, name="history_kind_known"),
    Index("history_job", "job", "id"),
    postgresql_with=storage.ADDED,
)
_make_before(history, check_definition())

history_kind = Table(
    "history_kind",
    metadata,
    Column("kind", Integer, primary_key=True, autoincrement=False),
    Column(
        "nth", SmallInteger, primary_key=True, comment="0, and 1 for a second transition at the same moment"
    ),
    Column("source", Text, nullable=False, comment="- if the verb created the row"),
    Column("target", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("by", Text, nullable=False),
)


freshness = Table(
    "freshness",
    metadata,
    Column("app", Text, primary_key=True),
    Column(
        "freshness_scope",
        Text,
        primary_key=True,
        comment="values of the kwargs in freshness_by; empty if the app has none",
    ),
    Column("work_id", Text, primary_key=True),
    Column(
        "at",
        DateTime(timezone=True),
        nullable=False,
        comment="last success of a chunk with this work ID",
    ),
)


# The primary key enforces that no partition is made twice. A partition belongs to one job at a time, and passes to
# another job only after the first one is dead and has not made it.
partition = Table(
    "partition",
    metadata,
    Column("table_name", Text, primary_key=True, comment="name of the table"),
    Column(
        "version",
        Text,
        primary_key=True,
        comment="version of the app that makes it; for external tables, the unit of the partitions",
    ),
    Column("partition", Integer, primary_key=True, comment="number, as counted by jobs.keys.calendar"),
    Column("job", BigInteger, comment="job that makes or made it; null if it landed from outside"),
    Column("done_at", DateTime(timezone=True), comment="time at which it was made; null if it is missing"),
    Column(
        "stale_since",
        DateTime(timezone=True),
        comment="time at which a partition that it was made from, or is being made from, landed again; else null",
    ),
    Column(
        "contents",
        BigInteger,
        comment="hash of the jobs with keys, and of their claims, that made it; null if it was made in another way",
    ),
    Column(
        "begun_at",
        DateTime(timezone=True),
        comment="begin of the first of these jobs; null if it was made in another way, or landed again since",
    ),
    CheckConstraint("job IS NOT NULL OR done_at IS NOT NULL", name="partition_made"),
    Index("partition_job", "job", postgresql_where=text("job IS NOT NULL")),
)


shared_kwargs = Table(
    "shared_kwargs",
    metadata,
    Column(
        "digest", Text, primary_key=True, comment="SHA-256 of the kwargs as JSON, by which jobs refer to them"
    ),
    Column("kwargs", JSONB, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
)


plan_attempt = Table(
    "plan_attempt",
    metadata,
    Column(
        "submission", BigInteger, primary_key=True, autoincrement=False, comment="number of the submission"
    ),
    Column(
        "worker",
        UUID(as_uuid=True),
        primary_key=True,
        comment="process that plans it, or that died while planning it",
    ),
    Column("since", DateTime(timezone=True), nullable=False),
    Index("plan_attempt_worker", "worker"),
    postgresql_with=storage.QUEUE,
)
