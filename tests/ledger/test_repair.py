"""Repairs: each broken rule is true again afterwards, and all requested jobs end."""

import pytest

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle import judgements
from sluice.ledger.recovery import repairs
from sluice.ledger.recovery.invariants import (  # fmt: skip
    ARCHIVED,
    BREAKER_PAUSES,
    COLLECTED,
    COUNTED,
    GATES_COUNT,
    NAMED,
    OPEN,
    PAUSED,
    ROUNDS_END,
    SPLIT_OWED,
    TOLD,
    URGENT,
    WATCHED,
    Breach,
    breaches,
)
from sluice.ledger.recovery.repairs import _REPAIRS, repair
from sluice.planner.judge import judge
from tests.ledger.poisoned_chunks import Farm
from tests.world import World


def _mark_needs(which: str, met: str, gate: str) -> str:
    return f"""
    WITH changed AS (
        UPDATE need SET met = {met} FROM job
        WHERE job.id = child AND app = 'bottom' AND {which} RETURNING child)
    UPDATE gate SET {gate} FROM changed WHERE gate.child = changed.child
    """


#: More rows than one search returns (``LOOK``, here 1,000) and than one transaction repairs (``BATCH``).
MANY = 3_000

#: Writes that should not have happened. Each has a statement and the rules that it breaks.
DAMAGE = {
    "a gate that counts no unmet needs": ("UPDATE gate SET unmet = 0 WHERE unmet > 0", {GATES_COUNT, OPEN}),
    "a gate that counts too many unmet needs": ("UPDATE gate SET unmet = 9", {GATES_COUNT}),
    "a gate that counts an impossible need": (
        "UPDATE gate SET impossible = 1 WHERE unmet > 0",
        {GATES_COUNT},
    ),
    "a waiting job that is marked as unblocked": (
        "UPDATE job SET unblocked = true WHERE state = 'waiting'",
        {OPEN},
    ),
    "an open need that is marked as met": (_mark_needs("met IS NULL", "true", "unmet = 0"), {TOLD, OPEN}),
    "a met need that is marked as open": (_mark_needs("met", "NULL", "unmet = unmet + 1"), {TOLD}),
    "a met need that is marked as impossible": (
        _mark_needs("met", "false", "unmet = unmet + 1, impossible = 1"),
        {TOLD},
    ),
    "a parent with too low a priority": ("UPDATE job SET priority = -5 WHERE app = 'left'", {URGENT}),
    "a paused job without a paused submission": (
        "UPDATE job SET paused = true WHERE state = 'waiting'",
        {PAUSED},
    ),
    "an ended job with a round that has no ending": (
        "UPDATE round SET ending = NULL, executed_at = NULL WHERE job = (SELECT id FROM job WHERE app = 'top')",
        {ROUNDS_END},
    ),
    "a job with polls and no external work": (
        "UPDATE job SET next_poll_at = now() WHERE app = 'left'",
        {WATCHED},
    ),
    "a changed archive policy": (
        """UPDATE job SET overrides = '{"archive": "manual"}' WHERE app = 'top'""",
        {COLLECTED},
    ),
    "an archived job that is marked for collection": (
        "UPDATE job SET needs_collection = true, archived_at = '2020-01-01' WHERE app = 'top'",
        {ARCHIVED},
    ),
    "a pause by a breaker that does not exist": (
        "INSERT INTO app_pause (app, since, until, pause_s, why) VALUES ('left', now(), now(), 1, 'x')",
        {BREAKER_PAUSES},
    ),
    "wrong counts of states": (
        "INSERT INTO state_count VALUES ('left', 'ready', 3, 0), ('right', 'waiting', 1, 0)",
        {COUNTED},
    ),
    "a need for a job that does not exist": (
        """INSERT INTO need (child, gate, parent, condition)
           SELECT child, gate, 999, condition FROM need JOIN job ON job.id = child WHERE app = 'bottom' LIMIT 1""",
        {NAMED, GATES_COUNT},
    ),
    "a request for a job that does not exist": (
        "INSERT INTO submission_job (submission, job, request_reason) SELECT number, 999, 0 FROM submission",
        {NAMED},
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_repair_restores_the_broken_rules_and_all_jobs_end(world: World, damage: str) -> None:
    world.apps("top -> left, top -> right, left -> bottom, right -> bottom")
    world.submit("bottom")
    world.finish("top")
    world.finish("right")
    sql, rules = DAMAGE[damage]
    assert world.ledger.transact(lambda tx: tx.write(sql)) > 0
    assert {breach.rule for breach in world.ledger.transact(breaches)} == rules
    assert repair(world.ledger) == (sorted(rules), [])
    assert world.ledger.transact(breaches) == []
    world.tick(after_s=60)
    world.finish("left")
    world.tick(after_s=60)
    world.finish("bottom")
    world.tick(after_s=60)
    assert world.states() == dict.fromkeys(("top", "left", "right", "bottom"), State.SUCCEEDED)


def test_the_whole_ledger_is_checked_once_per_pass_however_many_rows_are_wrong(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that one search for a broken rule does not return is found by the next search for that rule."""
    looks = []

    def look(tx: Tx) -> list[Breach]:
        looks.append(breaches(tx))
        return looks[-1]

    monkeypatch.setattr(repairs, "breaches", look)
    monkeypatch.setattr(repairs, "LOOK", 1_000)
    world.apps("top -> bottom")
    world.submit("bottom", None, keys=[str(number) for number in range(MANY)])
    shut = "UPDATE gate SET unmet = 9"
    lost = (
        "INSERT INTO submission_job (submission, job, request_reason) "
        f"SELECT 1, 1000000 + n, 0 FROM generate_series(1, {MANY}) n"
    )
    assert world.ledger.transact(lambda tx: (tx.write(shut), tx.write(lost))) == (MANY, MANY)
    assert repair(world.ledger) == (sorted((GATES_COUNT, NAMED)), [])
    assert len(looks) == 2, "the first search finds the wrong rows, and the second finds none"


def test_a_failed_chunk_without_pending_propagation_is_split_after_the_repair(world: World) -> None:
    farm = Farm(world, "a:4")
    farm.poison = {2}
    farm.submit("a", [1, 2, 3, 4])
    claimed = world.claim(farm.chunks()[0].name)
    assert claimed is not None
    outcome = Outcome(ending=Ending.ERROR, error="it broke")
    transactions.record(world.ledger, {claimed.right: outcome})
    world.ledger.transact(lambda tx: judgements.judge(tx, [claimed.right.job], judge))
    assert world.ledger.transact(lambda tx: tx.write("DELETE FROM propagation_outbox")) == 1
    assert [breach.rule for breach in world.ledger.transact(breaches)] == [SPLIT_OWED]
    assert repair(world.ledger) == ([SPLIT_OWED], [])
    world.tick(after_s=60)
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 5))


def test_each_kind_of_repair_has_damage_that_tests_it() -> None:
    assert {*_REPAIRS} == {SPLIT_OWED}.union(*(rules for _, rules in DAMAGE.values()))


def test_a_breach_that_cannot_be_repaired_is_left_and_reported(world: World) -> None:
    world.apps("a")
    astray = "INSERT INTO partition (table_name, version, partition, job) VALUES ('a', '', 1, 999)"
    assert world.ledger.transact(lambda tx: tx.write(astray)) == 1
    repaired, left = repair(world.ledger)
    assert repaired == []
    assert [breach.rule for breach in left] == [
        "a partition belongs to a job that exists, and that makes partitions of its table"
    ]
    world.ledger.transact(lambda tx: tx.write("DELETE FROM partition"))
