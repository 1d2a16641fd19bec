"""The situations in which the alerts of Prometheus fire."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from sluice.broker.messages import CONTROL, SCHEDULER
from sluice.jobs.model.job import Ending
from sluice.ledger.limits import app_pauses
from sluice.ledger.recovery import leases
from sluice.ops.observe.metrics.exposition import text
from sluice.ops.observe.metrics.ledger_metrics import numbers
from tests.ops.promql import instant, value_of
from tests.world import World

RULES = Path(__file__).parents[2] / "ops" / "deploy" / "prometheus" / "rules.yml"
EXPRESSIONS: dict[str, str] = {
    rule["alert"].removeprefix("Sluice"): rule["expr"]
    for group in yaml.safe_load(RULES.read_text())["groups"]
    for rule in group["rules"]
}


def raised(world: World, alert: str) -> list[str]:
    """Return the apps that an alert fires for. The name is empty if the alert has no app."""
    said = instant(text(world.ledger.transact(lambda tx: numbers(tx, ["a", "b"]))))
    return sorted(dict(labels).get("app", "") for labels in value_of(EXPRESSIONS[alert], said))


@pytest.fixture
def office(world: World) -> World:
    """Return a world with a worker that serves all queues and leads."""
    world.apps("a, b")
    lead(world)
    return world


def lead(world: World) -> None:
    world.beat(world.worker)
    world.ledger.transact(lambda tx: leases.take_leadership(tx, SCHEDULER, world.worker, term_s=1))


def serve_only(world: World, *queues: str) -> None:
    world.ledger.transact(
        lambda tx: tx.write("UPDATE worker SET queues = %(queues)s::text[]", queues=list(queues))
    )


def pause(world: World) -> None:
    world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="me"))


def trip_the_breaker(world: World) -> None:
    world.apps("a, b", breaker={"fails": 1})
    world.submit("a", "broken")
    world.finish("a/broken", Ending.ERROR)
    world.tick()


def nothing(world: World) -> None:
    pass


@pytest.mark.parametrize(("happens", "told"), [(nothing, ["a"]), (pause, []), (trip_the_breaker, [])])
def test_a_paused_app_raises_no_queue_without_worker(
    office: World, happens: Callable[[World], None], told: list[str]
) -> None:
    happens(office)
    office.submit("a")
    serve_only(office, "b", *CONTROL)
    assert raised(office, "QueueWithoutWorker") == told


@pytest.mark.parametrize(("happens", "told"), [(nothing, ["a"]), (pause, []), (trip_the_breaker, [])])
def test_a_paused_app_raises_no_oldest_ready_job(
    office: World, happens: Callable[[World], None], told: list[str]
) -> None:
    happens(office)
    office.submit("a")
    office.now += timedelta(minutes=11)
    lead(office)
    assert raised(office, "OldestReadyJob") == told


def test_each_control_queue_without_a_worker_raises_an_alert(office: World) -> None:
    assert raised(office, "QueueWithoutWorker") == []
    serve_only(office, "a", "planner")
    assert raised(office, "QueueWithoutWorker") == ["groomer", "scheduler"]


def test_no_leader_is_raised_without_a_leader_but_not_without_metrics(world: World) -> None:
    assert raised(world, "NoLeader") == [""]
    assert value_of(EXPRESSIONS["NoLeader"], {}) == {}
    assert value_of(EXPRESSIONS["MetricsAway"], {}) != {}
    lead(world)
    assert raised(world, "NoLeader") == []
    world.now += timedelta(seconds=31)
    assert raised(world, "NoLeader") == [""]
