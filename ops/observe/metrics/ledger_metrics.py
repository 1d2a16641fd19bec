"""Current values of the metrics, from the ledger."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime

from sluice.broker.messages import CONTROL
from sluice.jobs.model.pool import UNLIMITED
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.limits.app_pauses import pauses
from sluice.ledger.notifications.dead_letters import delivery_counts
from sluice.ledger.reads import fleet, server_health, state_statistics
from sluice.ledger.reads.fleet import differing
from sluice.ledger.reads.pool_queue import pool_counts
from sluice.ledger.reads.state_statistics import standing
from sluice.ledger.retention import removal
from sluice.ledger.stats.event_counters import CounterName, happened
from sluice.ledger.stats.state_counts import BUCKETS_S
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.exposition import Histogram, Values
from sluice.ops.observe.metrics.families import Family

_ONE: tuple[str, ...] = ()


def numbers(
    tx: Tx, defined: Collection[str], *, keep_s: float | None = None, keep_jobs_s: float | None = None
) -> dict[Family, Values]:
    """Return the values. ``defined`` are the apps of the definitions. Apps that have had jobs are added to them.
    ``keep_s`` and ``keep_jobs_s`` are the retention times. None means indefinitely, so nothing is due.
    """
    entered = state_statistics.entered(tx)
    apps = sorted({*defined, *(app for app, _ in entered)})
    return {
        # A counter that appears with 1 has no increase, and the first saga that could not be undone has to raise an
        # alert.
        families.TRANSITIONS: {
            **{(app, str(State.FATAL)): 0 for app in apps},
            **{(app, state): times for (app, state), times in entered.items()},
        },
        families.STATE_SECONDS: {
            named: Histogram(BUCKETS_S, stays.within, stays.seconds)
            for named, stays in state_statistics.stays(tx).items()
        },
        **_of_queues(tx, apps, entered.keys()),
        **_of_workers(tx, apps),
        **_of_troubles(tx),
        **_of_what_stopped(tx),
        **_of_pauses(tx, apps),
        **_of_notifications(tx),
        **_of_pools(tx),
        **_of_retention(tx, keep_s, keep_jobs_s),
        **_of_server(tx),
        families.SUBMISSIONS: {
            (state,): many for state, many in state_statistics.open_submissions(tx).items()
        },
    }


def _of_queues(tx: Tx, apps: Collection[str], known: Collection[tuple[str, str]]) -> dict[Family, Values]:
    """Return the values by queue. A state that has had jobs and has none is reported as 0; otherwise a graph would
    keep its last value.
    """
    counts = standing(tx)
    ready = {app: counts.get(app, {}).get(State.READY, 0) for app in apps}
    oldest = fleet.oldest_ready(tx, [app for app, many in ready.items() if many])
    now = tx.current_time()
    return {
        families.JOBS: {(app, state): counts.get(app, {}).get(State(state), 0) for app, state in known},
        families.QUEUE_DEPTH: {(app,): many for app, many in ready.items()},
        families.OLDEST_READY: {(app,): _age_s(oldest.get(app), now) for app in apps},
    }


def _of_workers(tx: Tx, apps: Collection[str]) -> dict[Family, Values]:
    queues = [*CONTROL, *apps]
    servers = fleet.servers(tx, queues)
    crew = state_statistics.crew(tx)
    different = Counter(each.app for each in differing(tx))
    return {
        families.QUEUE_WORKERS: {(queue,): servers.get(queue, 0) for queue in queues},
        families.APP_DEFINITIONS: {(app,): different.get(app, 1) for app in apps},
        families.WORKER_DEFINITIONS: {
            (digest,): workers for digest, workers in fleet.definition_digests(tx).items()
        },
        families.WORKERS: {("alive",): crew.alive, ("lost",): crew.lost},
        families.THREADS: {("busy",): crew.busy, ("idle",): crew.threads - crew.busy},
    }


def _of_troubles(tx: Tx) -> dict[Family, Values]:
    troubles = state_statistics.troubles(tx)
    found = happened(tx)
    kinds = dict.fromkeys(map(str, state_statistics.REPAIRS), 0) | dict(troubles.repairs)
    return {
        families.LEASE_LOSSES: {_ONE: troubles.lease_losses},
        families.REFUSED: {_ONE: troubles.refused},
        families.REFUSED_SUBMISSIONS: {_ONE: found.get((CounterName.SUBMISSION_REFUSED, ""), 0)},
        families.REPAIRS: {(kind,): times for kind, times in sorted(kinds.items())},
        families.ROUND_TRIPS: {_ONE: found.get((CounterName.ROUND_TRIP, ""), 0)},
        families.LINEAGE_DROPPED: {_ONE: found.get((CounterName.LINEAGE_DROPPED, ""), 0)},
        families.BLOBS_LOST: {_ONE: found.get((CounterName.BLOB_LOST, ""), 0)},
    }


def _of_what_stopped(tx: Tx) -> dict[Family, Values]:
    stopped = fleet.stopped(tx)
    leader: Mapping[tuple[str, ...], float] = (
        {_ONE: _age_s(stopped.led_at, stopped.at)} if stopped.led_at else {}
    )
    return {
        families.SCHEDULE_LATE: {_ONE: state_statistics.schedule_late_s(tx)},
        families.UNPLANNED: {_ONE: _age_s(stopped.unplanned_since, stopped.at)},
        families.LEADER: leader,
    }


def _of_notifications(tx: Tx) -> dict[Family, Values]:
    found = delivery_counts(tx)
    return {families.NOTIFICATIONS: {("pending",): found.pending, ("dead",): found.dead}}


def _of_pools(tx: Tx) -> dict[Family, Values]:
    """Return the values by pool. Pools by key are summed by app, because their number has no limit, and because a key
    may contain anything.
    """
    slots, taken, waiting = Counter[tuple[str, ...]](), Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for each in pool_counts(tx):
        app, colon, _ = each.pool.partition(":")
        named = (f"{app}:*" if colon else each.pool,)
        taken[named] += each.taken
        waiting[named] += each.behind
        if each.slots is not None and each.slots != UNLIMITED:
            slots[named] += each.slots
    return {families.POOL_SLOTS: slots, families.POOL_TAKEN: taken, families.POOL_WAITING: waiting}


def _of_retention(tx: Tx, keep_s: float | None, keep_jobs_s: float | None) -> dict[Family, Values]:
    """Return the values of the sweeps that the settings enable. The ledger may still have the position of a
    disabled sweep.
    """
    limits = {removal.SWEEP: keep_s, "jobs": keep_jobs_s, "submissions": keep_jobs_s}
    overdue = removal.overdue_s(tx)
    return {
        families.RETENTION_OVERDUE: {
            (kind,): overdue.get(kind, 0.0) for kind, limit_s in limits.items() if limit_s is not None
        },
        families.RETENTION_BACKLOG: {} if keep_s is None else {_ONE: removal.backlog(tx, keep_s=keep_s)},
    }


def _of_server(tx: Tx) -> dict[Family, Values]:
    facts = server_health.server(tx)
    tables = server_health.table_spaces(tx)
    named, others = tables[: families.TABLES_MAX], tables[families.TABLES_MAX :]
    return {
        families.TABLE_BYTES: {
            **{(each.name,): each.bytes for each in named},
            ("other",): sum(each.bytes for each in others),
        },
        families.TABLE_DEAD_ROWS: {
            **{(each.name,): each.dead for each in named},
            ("other",): sum(each.dead for each in others),
        },
        families.OLDEST_TRANSACTION: {_ONE: server_health.oldest_transaction_s(tx)},
        families.CONNECTIONS: {_ONE: facts.taken},
        families.CONNECTIONS_MAX: {_ONE: facts.places},
    }


def _of_pauses(tx: Tx, apps: Collection[str]) -> dict[Family, Values]:
    paused = {pause.app for pause in pauses(tx)}
    return {
        families.APP_PAUSED: {(app,): float(app in paused) for app in apps},
        families.BREAKER_OPEN: {
            (app,): float(is_open) for app, is_open in state_statistics.breakers(tx).items()
        },
    }


def _age_s(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max((now - since).total_seconds(), 0.0)
