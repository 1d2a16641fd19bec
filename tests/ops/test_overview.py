"""The overview of an installation, on a ledger with each of the problems that need attention."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest

from sluice.broker.messages import CONTROL, SCHEDULER
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.recovery import leases
from sluice.ops.observe.overview.alarms import OwnDefinitions, Severity
from sluice.ops.observe.overview.page import MINUTES, Overview, overview
from tests.world import LEASE_S, World


def look(world: World) -> Overview:
    return world.ledger.transact(lambda tx: overview(tx, {"a", "b"}))


def names(world: World) -> set[str]:
    return {alarm.name for alarm in look(world).alarms}


def keep_alive(world: World) -> None:
    """Renew the lease of the world's worker, which serves every queue, and make it the leader."""
    world.beat(world.worker)
    world.ledger.transact(lambda tx: leases.take_leadership(tx, SCHEDULER, world.worker, term_s=1))


def serve_only(world: World, *queues: str) -> None:
    world.ledger.transact(
        lambda tx: tx.write("UPDATE worker SET queues = %(queues)s::text[]", queues=list(queues))
    )


@pytest.fixture
def office(world: World) -> World:
    world.apps("a -> b")
    keep_alive(world)
    return world


def test_different_definitions_of_workers_and_console_raise_alerts(office: World) -> None:
    first, second, own = (KnownDefinitions(apps={"a": text}) for text in ("one", "two", "old"))
    office.ledger.transact(lambda tx: leases.record_definitions(tx, office.worker, first))
    assert "definitions-differ" not in names(office)
    broken = KnownDefinitions(apps=second.apps, problem="apps.json: a: it needs itself")
    other = uuid4()
    terms = {"host": "there", "pid": 2, "queues": [], "threads": 1, "lease_s": LEASE_S}
    office.ledger.transact(lambda tx: leases.join(tx, other, **terms))
    office.ledger.transact(lambda tx: leases.record_definitions(tx, other, broken))
    shown = OwnDefinitions(since=office.now, problem="pipeline changed")
    page = office.ledger.transact(lambda tx: overview(tx, {"a", "b"}, shown, own))
    told = [alarm.what for alarm in page.alarms if alarm.name == "definitions-differ"]
    assert len(told) == 3
    assert told[0].startswith("There are 3 definitions of a in use: ")
    assert "old this console" in told[0]
    assert "definitions of 2" in told[1]
    assert "UTC: pipeline changed." in told[1]
    assert told[2] == "The worker there:2 still uses its previous definitions: apps.json: a: it needs itself."
    assert page.definitions == shown


def test_the_overview_has_counts_and_series_of_the_jobs(office: World) -> None:
    office.submit("b", "1")
    office.submit("b", "2")
    office.finish("a/1")
    office.now += timedelta(minutes=3)
    keep_alive(office)
    office.finish("b/1")
    office.finish("a/2", Ending.ERROR)
    page = look(office)
    assert page.counts == {
        "a": {State.FAILED: 1, State.SUCCEEDED: 1},
        "b": {State.SUCCEEDED: 1, State.UPSTREAM_FAILED: 1},
    }
    assert page.totals == {"failed": 1, "succeeded": 2, "upstream_failed": 1}
    assert (len(page.series.started), page.series.started[-1], page.series.started[-4]) == (MINUTES, 2, 1)
    assert (page.series.succeeded[-1], page.series.failed[-1], sum(page.series.failed)) == (1, 1, 1)
    assert page.states.by_app["a"]["succeeded"][-4] == 1
    assert page.series.since + timedelta(minutes=MINUTES - 1) == page.at.replace(second=0, microsecond=0)


def test_queues_have_their_jobs_and_the_age_of_the_oldest(office: World) -> None:
    office.submit("b", "1")
    office.now += timedelta(seconds=7)
    office.submit("a", "2")
    keep_alive(office)
    first, second = look(office).queues
    assert (first.app, first.ready, first.waiting, first.oldest_ready_s, first.workers) == ("a", 2, 0, 7.0, 1)
    assert (second.app, second.ready, second.waiting, second.oldest_ready_s) == ("b", 0, 1, None)
    office.claim("a/1")
    assert look(office).queues[0].running == 1
    assert look(office).workers[0].running == 1


def test_an_unused_app_has_a_queue(world: World) -> None:
    keep_alive(world)
    assert [queue.app for queue in look(world).queues] == ["a", "b"]


def test_a_healthy_installation_has_no_alerts(office: World) -> None:
    office.submit("b", "1")
    assert look(office).alarms == []


def _no_worker_for_a(world: World) -> None:
    serve_only(world, "b", *CONTROL)
    world.submit("a", "1")
    world.now += timedelta(seconds=20)


def _no_planner(world: World) -> None:
    serve_only(world, "a", "b")


def _it_takes_long(world: World) -> None:
    world.submit("a", "1")
    world.now += timedelta(minutes=11)


def _no_leader(world: World) -> None:
    world.now += timedelta(minutes=1)
    world.beat(world.worker)


def _not_planned(world: World) -> None:
    world.ledger.transact(
        lambda tx: tx.write(
            "INSERT INTO submission (id, app, state, request, push, received_at)"
            " VALUES ('s', 'a', 'received', '{}', true, %(now)s::timestamptz)"
        )
    )
    world.now += timedelta(minutes=2)


def _a_schedule_is_late(world: World) -> None:
    world.ledger.transact(
        lambda tx: tx.write(
            "INSERT INTO schedule (id, app, source, digest, rule, timezone, next_due, fire_at, created_at, changed_at)"
            " VALUES ('nightly', 'a', 'x', 'd', '1d', 'UTC', %(now)s::timestamptz, %(now)s::timestamptz, now(), now())"
        )
    )
    world.now += timedelta(minutes=2)


def _a_worker_is_gone(world: World) -> None:
    world.hire()
    world.now += timedelta(seconds=2 * LEASE_S)


def _a_breaker_opens(world: World) -> None:
    world.apps("a", breaker={"fails": 1})
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.tick()


@pytest.mark.parametrize(
    ("happens", "name", "severity", "says"),
    [
        (_no_worker_for_a, "queue-without-worker", Severity.PAGE, "a has no worker; one job is ready"),
        (
            _no_planner,
            "queue-without-worker",
            Severity.PAGE,
            "No worker serves planner, groomer, scheduler",
        ),
        (_it_takes_long, "oldest-ready-job", Severity.WARN, "ready for 11 min 0 s"),
        (_no_leader, "no-leader", Severity.PAGE, "No process has been the leader"),
        (_not_planned, "submission-not-planned", Severity.WARN, "not been planned for 2 min 0 s"),
        (_a_schedule_is_late, "schedule-late", Severity.WARN, "nightly"),
        (_a_worker_is_gone, "workers-lost", Severity.WARN, "One worker was lost"),
        (_a_breaker_opens, "breaker-open", Severity.WARN, "a is open: a round has failed"),
    ],
)
def test_each_problem_raises_its_alert(
    office: World, happens: Callable[[World], None], name: str, severity: Severity, says: str
) -> None:
    happens(office)
    if happens is not _no_leader:
        keep_alive(office)
    (alarm,) = look(office).alarms
    assert (alarm.name, alarm.severity) == (name, severity)
    assert says in alarm.what
    assert alarm.advice
