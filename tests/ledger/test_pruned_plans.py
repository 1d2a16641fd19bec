"""Plans after pruning: they are the same as with the complete history."""

import random
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from sluice.broker.messages import Cancel, Landed, Message, Submit
from sluice.jobs.model.job import Ending
from tests.ledger.ages import later, left, prune
from tests.simulation.definitions import drawn_apps, drawn_wish
from tests.world import World

#: Seeds of the random pasts. In each, ``WISHES`` requests come before the time that passes and as many after it.
SEEDS = range(12)
WISHES = 6
RUNS_MAX = 60

# All columns that plans depend on, except times. IDs are equal in both worlds, because both are built the same way.
_KEPT = {
    "job": "id, app, key, state, round, claim, fails, unblocked, priority, max_fails, overrides, kwargs, end_before,"
    " work_ids, freshness_scope, output_table, bisected_from, needs_collection, pool, waiting_for_slot, undoes",
    "need": "child, gate, parent, condition, met, stale_claim",
    "gate": "child, gate, name, unmet, impossible",
    "submission_job": "submission, job, request_reason",
    "submission": "number, id, state, reason, request, blocking_job",
    "partition": "table_name, version, partition, job, done_at",
    "freshness": "app, freshness_scope, work_id, at",
    "propagation_outbox": "job",
}


def _snapshot(world: World) -> Mapping[str, Any]:
    return {
        table: world.ledger.transact(
            lambda tx, table=table, columns=columns: tx.rows(
                f"SELECT {columns} FROM {table} ORDER BY {columns}"
            )
        )
        for table, columns in _KEPT.items()
    }


def _wish(world: World, rng: random.Random, number: int, known: list[str]) -> None:
    message: Message = drawn_wish(rng, world.defined, number, known)
    if isinstance(message, Submit) and rng.random() < 0.5:
        words = msgspec.json.decode(message.submission)
        again = rng.choice(["job", "downstream"])
        message = msgspec.structs.replace(
            message, submission=msgspec.Raw(msgspec.json.encode({**words, "rerun": again}))
        )
    assert isinstance(message, Submit | Cancel | Landed)
    world.queue.append(message)
    world.deliver()


def _work(world: World, rng: random.Random) -> None:
    """Run at most ``RUNS_MAX`` ready jobs, one after the other. About 30% of them fail, and some stay ready."""
    for _ in range(RUNS_MAX):
        ready = sorted(world.ready())
        if not ready:
            return
        world.beat(world.worker)
        claimed = world.claim(rng.choice(ready))
        if claimed is None:
            world.tick(after_s=1)
        else:
            world.record(claimed, Ending.ERROR if rng.random() < 0.3 else Ending.DONE)


def _story(world: World, seed: int, *, pruned: bool) -> Mapping[str, Any]:
    rng = random.Random(seed)
    world.define(drawn_apps(rng))
    known: list[str] = []
    for number in range(WISHES):
        _wish(world, rng, number, known)
        _work(world, rng)
    later(world)
    if pruned:
        before = left(world)
        removed = prune(world)
        assert left(world) == before - (removed.transitions + removed.rounds)
        assert removed.jobs, "the ledger has no old jobs, so this test proves nothing"
    for number in range(WISHES, 2 * WISHES):
        _wish(world, rng, number, known)
    world.tick(after_s=1)
    return _snapshot(world)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_after_pruning_is_the_same_as_without_pruning(embedded_url: str, seed: int) -> None:
    stories = []
    for pruned in (False, True):
        with World(embedded_url) as world:
            stories.append(_story(world, seed, pruned=pruned))
    kept, gone = stories
    for table in _KEPT:
        assert gone[table] == kept[table], table
