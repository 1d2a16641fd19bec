"""Metrics: each one counts its event, and Prometheus's own parser reads their text."""

import re
import signal
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from inspect import getsource
from io import BytesIO
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sluice.actors.executor.transactions import record
from sluice.actors.telemetry.counters import ProcessCounters
from sluice.broker.messages import CONTROL
from sluice.jobs.blobs import BlobStore, BlobsUnavailable
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.states import State
from sluice.ledger.database.conninfo import complete
from sluice.ledger.limits import app_pauses
from sluice.ledger.recovery import leases
from sluice.ledger.retention import job_removal, removal
from sluice.ledger.stats.event_counters import CounterName
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.exposition import Histogram, text
from sluice.ops.observe.metrics.families import FAMILIES, Family, MetricKind
from sluice.ops.observe.metrics.ledger_metrics import numbers
from tests.ledger.test_state_counts import counts_all
from tests.ops.caller import printed
from tests.ops.typist import NO_LEDGER, Typist, ended
from tests.world import World

KEEP_S = 3600.0
DAILY = {"id": "daily", "app": "a", "key": "1", "every": "1h"}


def read(written: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Return the values by the name of the sample and the values of its labels."""
    found = {}
    for family in text_string_to_metric_families(written):
        assert family.documentation
        for sample in family.samples:
            found[sample.name, tuple(sample.labels.values())] = sample.value
    return found


def now(world: World, family: Family, *labels: str) -> float:
    """Return the value of a metric, or for a histogram the number of its observations."""
    found = read(
        text(world.ledger.transact(lambda tx: numbers(tx, ["a"], keep_s=KEEP_S, keep_jobs_s=KEEP_S)))
    )
    name = f"{family.name}_count" if family.kind is MetricKind.HISTOGRAM else family.name
    return found.get((name, labels), 0.0)


def submits(world: World) -> None:
    world.apps("a -> b", max_losses=1, max_fails=1, end_before="2100-01-01")
    world.submit("a")


def runs(world: World) -> None:
    submits(world)
    world.finish("a")
    counts_all(world)


def waits(world: World) -> None:
    submits(world)
    world.now += timedelta(seconds=30)


def loses_a_worker(world: World) -> None:
    submits(world)
    assert world.claim("a/1", worker=world.hire())
    world.tick(after_s=60)
    counts_all(world)


def brings_it_late(world: World) -> None:
    submits(world)
    claimed = world.claim("a/1")
    assert claimed
    world.finish("a") if world.state("a/1") is State.READY else None
    late = Claim(claimed.id, claimed.claim + 7)
    _, refused = record(world.ledger, {late: Outcome(ending=Ending.DONE)})
    assert refused == [late]


def loses_a_hint(world: World) -> None:
    submits(world)
    world.lose_messages()
    world.tick(after_s=11)  # longer than the groomer waits, shorter than the lease of the free worker


def is_late_with_a_schedule(world: World) -> None:
    world.ledger.transact(
        lambda tx: tx.write(
            "INSERT INTO schedule (id, app, source, digest, rule, timezone, next_due, fire_at, created_at, changed_at)"
            " VALUES ('daily', 'a', 's', 'd', 'r', 'UTC', %(at)s, %(at)s, %(at)s, %(at)s)",
            at=tx.current_time() - timedelta(seconds=90),
        )
    )


def plans_nothing(world: World) -> None:
    world.ledger.transact(
        lambda tx: tx.write(
            "INSERT INTO submission (id, app, state, request, push, received_at)"
            " VALUES ('s', 'a', 'received', '{\"app\": \"a\"}', true, %(at)s)",
            at=tx.current_time() - timedelta(seconds=90),
        )
    )


def is_led_no_more(world: World) -> None:
    world.ledger.transact(lambda tx: leases.take_leadership(tx, "scheduler", world.worker, term_s=3.0))
    world.now += timedelta(seconds=45)


def submits_with_an_unknown_option(world: World) -> None:
    world.apps("a")
    world.submit("a", "1", kee="2")


def hires(world: World) -> None:
    world.hire()


def rolls_out(world: World) -> None:
    for digest in ("one", "two"):
        worker, known = world.hire(), KnownDefinitions(apps={"a": digest})
        world.ledger.transact(
            lambda tx, worker=worker, known=known: leases.record_definitions(tx, worker, known)
        )


def asks_the_ledger(world: World) -> None:
    meter = ProcessCounters(world.ledger)
    meter.read()
    world.apps("a -> b")
    meter.read()


def pauses(world: World) -> None:
    submits(world)
    world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="me"))


def keeps_failing(world: World) -> None:
    world.apps("a", breaker={"fails": 1})
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.tick()


def drops_lineage(world: World) -> None:
    meter = ProcessCounters(world.ledger, {CounterName.LINEAGE_DROPPED: lambda: 3})
    meter.read()
    meter.read()


def loses_a_blob(world: World) -> None:
    blobs = BlobStore("nosuch://bucket")
    meter = ProcessCounters(world.ledger, {CounterName.BLOB_LOST: lambda: blobs.losses})
    with pytest.raises(BlobsUnavailable):
        blobs.put("a/t/1-output", BytesIO(b"text"))
    meter.read()


def fails_with_a_rule(world: World) -> None:
    world.apps("a", notify=[{"on": ["failed"], "webhook": "https://alerts.example.org/"}])
    world.submit("a")
    world.finish("a", Ending.ERROR)


def shares_a_pool(world: World) -> None:
    world.apps("a", concurrency={"limit": 2, "pool": "gpu"})
    for key in ("1", "2", "3", "4", "5"):
        world.submit("a", key)


def is_planned_by_nobody(world: World) -> None:
    world.ledger.transact(
        lambda tx: tx.write(
            "INSERT INTO submission (id, app, state, request, push, received_at)"
            " VALUES ('s', 'a', 'received', '{\"app\": \"a\"}', true, %(at)s)",
            at=tx.current_time(),
        )
    )


def sweeps_and_stops(world: World) -> None:
    """Begin a sweep of each kind, and have no process continue it."""
    runs(world)
    world.ledger.transact(lambda tx: removal.sweep(tx, keep_s=KEEP_S, limit=1))
    world.ledger.transact(lambda tx: job_removal.sweep(tx, keep_s=KEEP_S, limit=1))
    world.now += timedelta(hours=5)


def fills_a_table(world: World) -> None:
    """Write 3,000 rows of 1 kB, and delete 2,000 of them again. Another connection shares its statistics when it is
    closed."""
    with psycopg.connect(complete(world.url)) as connection:
        connection.execute(
            "INSERT INTO audit (token, at, actor, action, target, result)"
            " SELECT n, now(), 'me', repeat('x', 1000), '{}', '{}' FROM generate_series(1, 3000) n"
        )
        connection.commit()
        connection.execute("DELETE FROM audit WHERE token::int > 1000")


#: By metric: an event, the labels, and the least increase of the value.
MOVES: dict[Family, tuple[Callable[[World], None], tuple[str, ...], float]] = {
    families.JOBS: (submits, ("a", "ready"), 1),
    families.TRANSITIONS: (submits, ("a", "ready"), 1),
    families.STATE_SECONDS: (runs, ("a", "running"), 1),
    families.QUEUE_DEPTH: (submits, ("a",), 1),
    families.OLDEST_READY: (waits, ("a",), 30),
    families.QUEUE_WORKERS: (hires, ("a",), 1),
    families.APP_DEFINITIONS: (rolls_out, ("a",), 1),
    families.WORKERS: (hires, ("alive",), 1),
    families.THREADS: (hires, ("idle",), 1),
    families.LEASE_LOSSES: (loses_a_worker, (), 1),
    families.REFUSED: (brings_it_late, (), 1),
    families.REFUSED_SUBMISSIONS: (submits_with_an_unknown_option, (), 1),
    families.REPAIRS: (loses_a_hint, ("announce_ready",), 1),
    families.ROUND_TRIPS: (asks_the_ledger, (), 1),
    families.SCHEDULE_LATE: (is_late_with_a_schedule, (), 90),
    families.UNPLANNED: (plans_nothing, (), 90),
    families.LEADER: (is_led_no_more, (), 45),
    families.SUBMISSIONS: (is_planned_by_nobody, ("received",), 1),
    families.POOL_SLOTS: (shares_a_pool, ("pool gpu",), 2),
    families.POOL_TAKEN: (shares_a_pool, ("pool gpu",), 2),
    families.POOL_WAITING: (shares_a_pool, ("pool gpu",), 3),
    families.RETENTION_OVERDUE: (sweeps_and_stops, ("history",), 3600),
    families.RETENTION_BACKLOG: (sweeps_and_stops, (), 1),
    families.TABLE_BYTES: (fills_a_table, ("audit",), 3_000_000),
    families.TABLE_DEAD_ROWS: (fills_a_table, ("audit",), 2000),
    families.NOTIFICATIONS: (fails_with_a_rule, ("pending",), 1),
    families.APP_PAUSED: (pauses, ("a",), 1),
    families.BREAKER_OPEN: (keeps_failing, ("a",), 1),
    families.LINEAGE_DROPPED: (drops_lineage, (), 3),
    families.BLOBS_LOST: (loses_a_blob, (), 1),
    families.WORKER_DEFINITIONS: (rolls_out, (KnownDefinitions(apps={"a": "two"}).digest,), 1),
}
#: The other metrics, each with the module and the name of the test that moves it.
ELSEWHERE = {
    families.OLDEST_TRANSACTION: ("test_metrics", "test_an_open_transaction_and_its_connection_are_reported"),
    families.CONNECTIONS: ("test_metrics", "test_an_open_transaction_and_its_connection_are_reported"),
    families.CONNECTIONS_MAX: ("test_metrics", "test_the_limit_of_connections_is_the_one_of_the_server"),
    families.LEDGER_UP: ("test_console_probes", "test_a_ledger_that_is_back_is_reported"),
    families.BUILD_INFO: ("test_console_probes", "test_the_metrics_name_the_build"),
    families.APP_INFO: ("test_console_probes", "test_the_metrics_name_the_tenant_of_each_app"),
    families.BROKER_UP: ("test_metrics_of_brokers", "test_without_the_broker_the_other_metrics_remain"),
    families.BROKER_MESSAGES: (
        "test_metrics_of_brokers",
        "test_waiting_messages_and_dead_letters_are_counted",
    ),
    families.BROKER_DEAD: ("test_metrics_of_brokers", "test_waiting_messages_and_dead_letters_are_counted"),
}


def test_each_metric_has_a_case() -> None:
    assert {*MOVES} | {*ELSEWHERE} == set(FAMILIES)
    for family, (module, name) in ELSEWHERE.items():
        assert family.name in getsource(getattr(import_module(f"tests.ops.{module}"), name))


@pytest.mark.parametrize("family", MOVES, ids=lambda family: family.name)
def test_a_metric_counts_its_event(world: World, family: Family) -> None:
    move, labels, least = MOVES[family]
    before = now(world, family, *labels)
    move(world)
    assert now(world, family, *labels) >= before + least


def sampled(world: World) -> dict[tuple[str, tuple[str, ...]], float]:
    return read(text(world.ledger.transact(lambda tx: numbers(tx, ["a"]))))


def test_an_open_transaction_and_its_connection_are_reported(world: World) -> None:
    oldest, connections = (
        ("sluice_ledger_oldest_transaction_seconds", ()),
        ("sluice_ledger_connections", ()),
    )
    before = sampled(world)
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT 1")
        first, second = sampled(world), sampled(world)
    assert before[oldest] == 0
    assert 0 < first[oldest] < second[oldest]
    assert second[connections] > 0


def test_the_limit_of_connections_is_the_one_of_the_server(world: World) -> None:
    with psycopg.connect(world.url) as connection:
        shown = [
            connection.execute(f"SHOW {name}").fetchone()
            for name in ("max_connections", "superuser_reserved_connections")
        ]
    most, reserved = (int(row[0]) for row in shown if row)
    found = sampled(world)
    assert found["sluice_ledger_connections_max", ()] == most - reserved
    assert 0 < found["sluice_ledger_connections", ()] <= most


def test_without_retention_nothing_is_overdue(world: World) -> None:
    sweeps_and_stops(world)
    assert now(world, families.RETENTION_OVERDUE, "jobs") >= 3600
    assert now(world, families.RETENTION_OVERDUE, "submissions") >= 3600
    assert not [name for name, _ in sampled(world) if name.startswith("sluice_retention")]


def test_a_sweep_that_rests_is_not_overdue(world: World) -> None:
    runs(world)
    world.ledger.transact(lambda tx: removal.sweep(tx, keep_s=KEEP_S, limit=1000))
    assert now(world, families.RETENTION_OVERDUE, "history") == 0
    world.now += timedelta(seconds=removal.REST_S / 2)
    assert now(world, families.RETENTION_OVERDUE, "history") > 0, "a tenth of the retention time is over"


def test_the_sizes_of_all_tables_are_in_the_sum(world: World) -> None:
    found = {
        labels: value for (name, labels), value in sampled(world).items() if name.endswith("table_bytes")
    }
    sizes = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables WHERE schemaname = current_schema()"
    assert len(found) == families.TABLES_MAX + 1
    assert sum(found.values()) == world.ledger.transact(lambda tx: tx.column(sizes)[0])


def test_pools_are_limited_by_number(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.ledger.reads.pool_queue.METRICS_MAX", 2)
    world.apps("a", concurrency={"limit": 1, "key": "{x}"})
    for key in ("1", "2", "3"):
        world.submit("a", key)
    assert now(world, families.POOL_TAKEN, "a:*") == 2


def test_pools_by_key_are_summed_by_app(world: World) -> None:
    world.apps("a", concurrency={"limit": 2, "key": "{x}"})
    for key in ("1", "2", "3"):
        world.submit("a", key)
    found = sampled(world)
    pools = {labels for name, labels in found if name.startswith("sluice_pool_")}
    assert pools == {("a:*",)}
    assert found["sluice_pool_slots", ("a:*",)] == 6
    assert found["sluice_pool_slots_taken", ("a:*",)] == 3


def test_a_rate_limit_without_a_pool_has_no_slots(world: World) -> None:
    world.apps("a", rate_limit="1/h")
    for key in ("1", "2", "3"):
        world.submit("a", key)
    found = sampled(world)
    assert ("sluice_pool_slots", ("a",)) not in found
    assert found["sluice_pool_waiting_jobs", ("a",)] == 2


def test_a_lost_run_is_counted_as_a_loss_and_as_a_repair(world: World) -> None:
    loses_a_worker(world)
    assert now(world, families.LEASE_LOSSES) == 1
    assert now(world, families.REPAIRS, "take_lost") == 1
    assert now(world, families.WORKERS, "lost") >= 1


def test_the_control_queues_have_workers_too(world: World) -> None:
    before = {queue: now(world, families.QUEUE_WORKERS, queue) for queue in CONTROL}
    world.hire()
    assert {queue: now(world, families.QUEUE_WORKERS, queue) - before[queue] for queue in CONTROL} == (
        dict.fromkeys(CONTROL, 1)
    )


def test_counts_of_a_process_are_added_once(world: World) -> None:
    drops_lineage(world)
    assert now(world, families.LINEAGE_DROPPED) == 3
    drops_lineage(world)
    assert now(world, families.LINEAGE_DROPPED) == 6


def test_counters_stay_the_same_when_transitions_are_counted(world: World) -> None:
    submits(world)
    before = now(world, families.TRANSITIONS, "a", "ready")
    counts_all(world)
    assert now(world, families.TRANSITIONS, "a", "ready") == before


def test_a_state_that_has_lost_its_jobs_is_reported_as_zero(world: World) -> None:
    runs(world)
    found = read(text(world.ledger.transact(lambda tx: numbers(tx, []))))
    assert found["sluice_jobs", ("a", "ready")] == 0
    assert found["sluice_jobs", ("a", "succeeded")] == 1


def test_a_histogram_has_cumulative_buckets(world: World) -> None:
    runs(world)
    written = text(world.ledger.transact(lambda tx: numbers(tx, [])))
    (family,) = [
        each for each in text_string_to_metric_families(written) if each.name == "sluice_job_state_seconds"
    ]
    assert family.type == "histogram"
    running = [sample for sample in family.samples if sample.labels.get("state") == "running"]
    buckets = [sample.value for sample in running if sample.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == next(sample.value for sample in running if sample.name.endswith("_count"))


def test_special_characters_in_app_names_are_escaped() -> None:
    odd = 'a "quoted" \\ app\nwith a line'
    written = text({families.JOBS: {(odd, "ready"): 2.0}, families.LEADER: {(): 0.25}})
    assert read(written) == {
        ("sluice_jobs", (odd, "ready")): 2.0,
        ("sluice_leader_silent_seconds", ()): 0.25,
    }
    assert (
        text({families.STATE_SECONDS: {("a", "ready"): Histogram((0.5,), (1, 2), 3.5)}}).count("_bucket") == 2
    )


def test_metric_names_follow_the_conventions() -> None:
    for family in FAMILIES:
        assert re.fullmatch("sluice_[a-z_]+", family.name)
        assert family.name.endswith("_total") == (family.kind is MetricKind.COUNTER)
        assert not family.name.endswith(("_ms", "_minutes"))
        assert set(family.labels) <= {
            *("app", "tenant", "state", "kind", "queue", "pool", "table", "digest"),
            *("version", "schema"),
        }


def test_metrics_are_available_as_json(desk: Typist) -> None:
    said: dict[str, Any] = desk.asks("metrics")
    assert {"labels": {"state": "alive"}, "value": 0} in said["sluice_workers"]


def test_the_command_reports_an_unreachable_ledger(desk: Typist) -> None:
    said = desk.types("metrics", SLUICE_LEDGER_URL=NO_LEDGER)
    assert (said.code, said.out) == (3, "")
    assert "The ledger does not answer" in said.err


def test_the_console_serves_the_metrics_of_workers(desk_apart: Typist) -> None:
    """The worker and the console are real and share nothing but the ledger."""
    assert desk_apart.types("run", "nap", "0").code == 0
    with desk_apart.starts("console", "--listen", "127.0.0.1:0") as console:
        assert console.stdout
        answer = printed(console.stdout.readline()).gets("/metrics")
        kind, found = answer.headers["Content-Type"], read(answer.body.decode())
        console.send_signal(signal.SIGTERM)
        assert ended(console).code == 0
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert found["sluice_jobs", ("nap", "succeeded")] == 1
    assert found["sluice_job_transitions_total", ("nap", "running")] == 1
    assert found["sluice_ledger_round_trips_total", ()] > 0
    assert ("sluice_broker_up", ()) not in found, "no other process can read an in-process broker"
