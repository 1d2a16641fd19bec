"""Workers with different definitions, as the ledger records them."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.ledger.reads import fleet
from sluice.ledger.reads.fleet import differing
from sluice.ledger.recovery import leases
from tests.world import World

SAME = {"left": "one", "right": "one"}


def hire(world: World, apps: Mapping[str, str] | None, *, pid: int, problem: str | None = None) -> UUID:
    """Register a worker with these definitions. Without ``apps`` it has a version that did not record them."""
    id_ = uuid4()
    terms = {"host": "here", "queues": [], "threads": 1, "lease_s": 60.0}
    world.ledger.transact(lambda tx: leases.join(tx, id_, pid=pid, **terms))
    if apps is not None:
        known = KnownDefinitions(apps=apps, problem=problem)
        world.ledger.transact(lambda tx: leases.record_definitions(tx, id_, known))
    return id_


def variants(
    world: World, own: Mapping[str, str] | None = None
) -> list[tuple[str, str, int, str | None, bool]]:
    known = None if own is None else KnownDefinitions(apps=own)
    found = world.ledger.transact(lambda tx: differing(tx, known))
    return [(each.app, each.digest, each.workers, each.one, each.is_own) for each in found]


def test_an_app_with_two_definitions_is_named_with_a_worker_of_each(world: World) -> None:
    hire(world, SAME, pid=1)
    hire(world, SAME, pid=2)
    assert variants(world) == []
    hire(world, {**SAME, "left": "two"}, pid=3)
    assert variants(world) == [("left", "one", 2, "here:1", False), ("left", "two", 1, "here:3", False)]


@pytest.mark.parametrize("apps", [None, {"right": "one"}, {"other": "two"}, {}])
def test_only_apps_that_both_workers_have_are_compared(world: World, apps: Mapping[str, str] | None) -> None:
    hire(world, SAME, pid=1)
    hire(world, apps, pid=2)
    assert variants(world) == []
    assert variants(world, SAME) == []


def test_the_definitions_of_the_calling_process_are_compared_too(world: World) -> None:
    hire(world, SAME, pid=1)
    assert variants(world, {"left": "old", "mine": "one"}) == [
        ("left", "one", 1, "here:1", False),
        ("left", "old", 0, None, True),
    ]


def test_workers_that_have_left_are_not_compared(world: World) -> None:
    hire(world, SAME, pid=1)
    left = hire(world, {"left": "two"}, pid=2)
    world.ledger.transact(lambda tx: leases.leave(tx, left))
    assert variants(world) == []


def test_a_worker_records_since_when_it_has_its_definitions(world: World) -> None:
    id_ = hire(world, SAME, pid=1)
    began = world.now
    world.now += timedelta(seconds=10)
    for problem in ("apps.json is at fault", None):
        known = KnownDefinitions(apps=SAME, problem=problem)
        world.ledger.transact(lambda tx, known=known: leases.record_definitions(tx, id_, known))
        (worker,) = [
            each for each in world.ledger.transact(fleet.workers) if each.pid == 1 and each.host == "here"
        ]
        assert (worker.definitions_at, worker.definitions_problem) == (began, problem)
    changed = KnownDefinitions(apps={"left": "two"})
    world.ledger.transact(lambda tx: leases.record_definitions(tx, id_, changed))
    (worker,) = [
        each for each in world.ledger.transact(fleet.workers) if each.pid == 1 and each.host == "here"
    ]
    assert (worker.definitions, worker.definitions_at) == (changed.digest, world.now)
