"""Rules of `sluice db check` for partitions: each damage breaks exactly the rules that it should break."""

import pytest

from sluice.ledger.database.connection import Tx
from sluice.ledger.recovery.invariants import Breach, breaches
from tests.ledger.lineages import acknowledge, ask, lineage, take, work_off
from tests.world import World

BELONGS = "a partition belongs to a job that exists, and that makes partitions of its table"
THERE = "the partitions of a step exist once it has succeeded"
YET = "a step that has not run has partitions to make"
DAMAGE = {
    "a job that does not exist": (
        "UPDATE partition SET job = 99 WHERE table_name = 's' AND done_at IS NULL",
        [BELONGS, YET],
    ),
    "a job of another table": (
        "UPDATE job SET output_table = 's' WHERE app = 'g' AND state = 'waiting'",
        [BELONGS],
    ),
    "a success without its partitions": (
        "UPDATE partition SET done_at = NULL WHERE done_at IS NOT NULL",
        [THERE],
    ),
    "a step without partitions": ("DELETE FROM partition WHERE table_name = 'g'", [YET]),
}


class _Undone(Exception):
    """Raised to roll back the damage."""


def _broken_by(world: World, damage: str) -> list[Breach]:
    found: list[Breach] = []

    def work(tx: Tx) -> None:
        assert tx.write(damage) > 0
        found.extend(breaches(tx))
        raise _Undone

    with pytest.raises(_Undone):
        world.ledger.transact(work)
    return found


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_and_named(world: World, damage: str) -> None:
    world.define(lineage("s, g*2: s"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    work_off(world, only="s/2024-04-01")
    sql, rules = DAMAGE[damage]
    assert [breach.rule for breach in _broken_by(world, sql)] == rules
    assert world.ledger.transact(breaches) == []


def test_a_running_step_that_lost_all_partitions_to_reruns_breaks_no_rule(world: World) -> None:
    world.define(lineage("g*2"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    claimed = take(world, "g/2024-04-01..2024-04-02")
    acknowledge(world, claimed, "2024-04-01", "2024-04-02")
    for day in ("2024-04-01", "2024-04-02"):
        ask(world, "g", day, rerun="job")
        assert world.ledger.transact(breaches) == []
    world.record(claimed)
