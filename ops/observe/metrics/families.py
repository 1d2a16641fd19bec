"""Definitions of the metrics: name, kind, labels and help. The table in docs/observe.md is made from them."""

from enum import StrEnum
from typing import NamedTuple

from sluice.ledger.reads.fleet import DIGESTS_MAX
from sluice.ledger.reads.pool_queue import COUNTED_MAX
from sluice.ledger.reads.state_statistics import SUBMISSIONS_MAX
from sluice.ledger.retention.removal import BACKLOG_MAX

#: Tables that are reported by name. The others are small.
TABLES_MAX = 10


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Family(NamedTuple):
    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    says: str


JOBS = Family("sluice_jobs", MetricKind.GAUGE, ("app", "state"), "Jobs in each state.")
TRANSITIONS = Family(
    "sluice_job_transitions_total",
    MetricKind.COUNTER,
    ("app", "state"),
    "Transitions of jobs into the state.",
)
STATE_SECONDS = Family(
    "sluice_job_state_seconds",
    MetricKind.HISTOGRAM,
    ("app", "state"),
    "How long jobs stayed in the state: ready is the wait for a worker, running the run, executed the wait for the"
    " planner's decision, suspended the wait of a saga.",
)
QUEUE_DEPTH = Family(
    "sluice_queue_depth", MetricKind.GAUGE, ("app",), "Jobs that are ready and wait for a worker."
)
OLDEST_READY = Family(
    "sluice_oldest_ready_seconds",
    MetricKind.GAUGE,
    ("app",),
    "For how long a job has been ready, among the hundred that were created first; 0 if no job is ready.",
)
QUEUE_WORKERS = Family(
    "sluice_queue_workers",
    MetricKind.GAUGE,
    ("app",),
    "Living workers that serve the queue of the app, or of `planner`, `groomer` or `scheduler`.",
)
APP_DEFINITIONS = Family(
    "sluice_app_definitions",
    MetricKind.GAUGE,
    ("app",),
    "How many different definitions of the app living workers use; more than 1 only during a roll-out.",
)
APP_INFO = Family(
    "sluice_app_info",
    MetricKind.GAUGE,
    ("app", "tenant"),
    "1 for each app of the definitions that this process has loaded. Multiply another metric by it to add the tenant.",
)
WORKER_DEFINITIONS = Family(
    "sluice_worker_definitions",
    MetricKind.GAUGE,
    ("digest",),
    f"Living workers by the digest of all their definitions, for the {DIGESTS_MAX} digests with most workers.",
)
WORKERS = Family(
    "sluice_workers",
    MetricKind.GAUGE,
    ("state",),
    "Worker processes: alive, or lost within the last ten minutes. The lease of a lost one ended before it shut down.",
)
THREADS = Family(
    "sluice_worker_threads",
    MetricKind.GAUGE,
    ("state",),
    "Threads for jobs of living workers, busy and idle.",
)
LEASE_LOSSES = Family(
    "sluice_lease_losses_total",
    MetricKind.COUNTER,
    (),
    "Runs that were taken from a worker after its lease had ended.",
)
REFUSED = Family(
    "sluice_stale_results_total",
    MetricKind.COUNTER,
    (),
    "Results that came too late and were dropped, because another worker had claimed the job.",
)
REFUSED_SUBMISSIONS = Family(
    "sluice_refused_submissions_total",
    MetricKind.COUNTER,
    (),
    "Submissions that the planner refused; its log lists each with the reason.",
)
REPAIRS = Family(
    "sluice_groomer_repairs_total",
    MetricKind.COUNTER,
    ("kind",),
    "Repairs by the groomer: runs that were lost, timed out or expired, and notifications that had no effect.",
)
ROUND_TRIPS = Family(
    "sluice_ledger_round_trips_total",
    MetricKind.COUNTER,
    (),
    "Statements that workers have sent to the ledger, each waited for; updated with every heartbeat of a lease.",
)
SCHEDULE_LATE = Family(
    "sluice_schedule_late_seconds",
    MetricKind.GAUGE,
    (),
    "By how much the latest schedule is late; 0 if none is.",
)
UNPLANNED = Family(
    "sluice_unplanned_submission_seconds",
    MetricKind.GAUGE,
    (),
    "For how long the oldest submission waits to be planned, once that is a minute; 0 if none does.",
)
LEADER = Family(
    "sluice_leader_silent_seconds",
    MetricKind.GAUGE,
    (),
    "For how long no process has led. The leader makes the groomer tick and schedules fire.",
)
APP_PAUSED = Family(
    "sluice_app_paused",
    MetricKind.GAUGE,
    ("app",),
    "Whether the app is paused, by a person or by its breaker, so that its jobs do not start.",
)
BREAKER_OPEN = Family(
    "sluice_breaker_open",
    MetricKind.GAUGE,
    ("app",),
    "Whether the breaker of the app is open, so that its jobs do not start; only for apps that have a breaker.",
)
LINEAGE_DROPPED = Family(
    "sluice_lineage_dropped_total", MetricKind.COUNTER, (), "Events of lineage that could not be sent."
)
BLOBS_LOST = Family(
    "sluice_blobs_lost_total",
    MetricKind.COUNTER,
    (),
    "Outputs and results that could not be stored whole: the store or the disk failed, or an output was too long.",
)
NOTIFICATIONS = Family(
    "sluice_notifications",
    MetricKind.GAUGE,
    ("state",),
    "Deliveries of notifications: pending, and given up (dead).",
)
SUBMISSIONS = Family(
    "sluice_submissions",
    MetricKind.GAUGE,
    ("state",),
    f"Submissions that have not ended: received (not planned yet), and active; counted up to {SUBMISSIONS_MAX:,}.",
)
POOL_SLOTS = Family(
    "sluice_pool_slots",
    MetricKind.GAUGE,
    ("pool",),
    "Slots of the pool, if jobs have one or wait for one. `APP:*` is the sum over the app's pools by key.",
)
POOL_TAKEN = Family(
    "sluice_pool_slots_taken",
    MetricKind.GAUGE,
    ("pool",),
    f"Taken slots of the pool: its ready and running jobs, counted up to {COUNTED_MAX:,}.",
)
POOL_WAITING = Family(
    "sluice_pool_waiting_jobs",
    MetricKind.GAUGE,
    ("pool",),
    f"Jobs that wait for a slot of the pool, or for a token of a rate limit, counted up to {COUNTED_MAX:,}.",
)
RETENTION_OVERDUE = Family(
    "sluice_retention_overdue_seconds",
    MetricKind.GAUGE,
    ("kind",),
    "For how long the removal of old history, jobs or submissions has been due and has not ended; 0 while it rests.",
)
RETENTION_BACKLOG = Family(
    "sluice_retention_backlog_jobs",
    MetricKind.GAUGE,
    (),
    f"Jobs with a history that is older than SLUICE_KEEP_HISTORY, counted up to {BACKLOG_MAX:,}.",
)
TABLE_BYTES = Family(
    "sluice_ledger_table_bytes",
    MetricKind.GAUGE,
    ("table",),
    f"Size of the {TABLES_MAX} largest tables with their indexes; `other` is the sum of the other tables.",
)
TABLE_DEAD_ROWS = Family(
    "sluice_ledger_table_dead_rows",
    MetricKind.GAUGE,
    ("table",),
    "Dead rows of these tables, as Postgres estimates them.",
)
OLDEST_TRANSACTION = Family(
    "sluice_ledger_oldest_transaction_seconds",
    MetricKind.GAUGE,
    (),
    "Age of the oldest open transaction in the ledger's database, as far as the role may see it.",
)
CONNECTIONS = Family(
    "sluice_ledger_connections",
    MetricKind.GAUGE,
    (),
    "Connections to the server of the ledger, of all users.",
)
CONNECTIONS_MAX = Family(
    "sluice_ledger_connections_max",
    MetricKind.GAUGE,
    (),
    "Connections that the server allows to users without superuser rights.",
)
LEDGER_UP = Family(
    "sluice_ledger_up", MetricKind.GAUGE, (), "Whether the ledger answered, within two seconds."
)
BUILD_INFO = Family(
    "sluice_build_info",
    MetricKind.GAUGE,
    ("version", "schema"),
    "Always 1; the labels are the version of Sluice that reports the metrics, and the schema that it works with.",
)
BROKER_UP = Family(
    "sluice_broker_up", MetricKind.GAUGE, (), "Whether the broker answered, within two seconds."
)
BROKER_MESSAGES = Family(
    "sluice_broker_messages",
    MetricKind.GAUGE,
    ("queue",),
    "Messages that wait at the broker; workers hold others.",
)
BROKER_DEAD = Family(
    "sluice_broker_dead_letters", MetricKind.GAUGE, ("queue",), "Messages that could not be read, kept aside."
)

FAMILIES = (
    *(LEDGER_UP, BUILD_INFO),
    *(JOBS, TRANSITIONS, STATE_SECONDS, QUEUE_DEPTH, OLDEST_READY, QUEUE_WORKERS, APP_DEFINITIONS),
    *(
        APP_INFO,
        WORKER_DEFINITIONS,
        WORKERS,
        THREADS,
        LEASE_LOSSES,
        REFUSED,
        REFUSED_SUBMISSIONS,
        REPAIRS,
        ROUND_TRIPS,
    ),
    *(SCHEDULE_LATE, UNPLANNED, LEADER, LINEAGE_DROPPED, BLOBS_LOST, NOTIFICATIONS),
    *(SUBMISSIONS, POOL_SLOTS, POOL_TAKEN, POOL_WAITING, RETENTION_OVERDUE, RETENTION_BACKLOG),
    *(TABLE_BYTES, TABLE_DEAD_ROWS, OLDEST_TRANSACTION, CONNECTIONS, CONNECTIONS_MAX),
    *(APP_PAUSED, BREAKER_OPEN, BROKER_UP, BROKER_MESSAGES, BROKER_DEAD),
)
