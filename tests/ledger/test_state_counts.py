"""Counting of transitions: the counts are exact, also if transactions commit late or counting is repeated."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from itertools import count, pairwise

import pytest

from sluice.jobs.model.history import Lost
from sluice.jobs.states import MAKE_READY, PAUSE, By, State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.history import VerbBy, number
from sluice.ledger.reads.state_statistics import minutes, standing
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.retention import removal
from sluice.ledger.stats import state_counts
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

_TRUTH = "SELECT app, state, count(*) FROM job GROUP BY app, state"
_UNCOUNTED = "SELECT 1 FROM history WHERE id > (SELECT counted FROM aggregation_cursor)"
_STEPS = "SELECT sum(steps)::bigint FROM transition_count"
_COUNTED = "SELECT app, state, jobs FROM state_count WHERE jobs <> 0"


def counts_all(world: World) -> int:
    """Count until no transition is left, and return how many were counted.

    Transactions of other tests in the same Postgres may delay the counting.
    """
    total = 0

    def has_counted() -> bool:
        nonlocal total
        world.now += timedelta(seconds=state_counts.EVERY_S + 1)
        total += world.ledger.transact(state_counts.count)
        return not rows(world, _UNCOUNTED)

    eventually(has_counted)
    return total


def rows(world: World, sql: str) -> set[tuple[object, ...]]:
    return {tuple(row) for row in world.ledger.transact(lambda tx: tx.rows(sql))}


def test_the_counts_are_exact_before_and_after_the_history_is_counted(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.finish("a")
    expected = {"a": {State.SUCCEEDED: 1}, "b": {State.READY: 1}}
    assert world.ledger.transact(standing) == expected
    counts_all(world)
    assert rows(world, _STEPS) == rows(world, "SELECT count(*) FROM transition")
    assert world.ledger.transact(standing) == expected
    assert rows(world, _COUNTED) == rows(world, _TRUTH)
    world.finish("b")
    assert world.ledger.transact(standing)["b"] == {State.SUCCEEDED: 1}
    assert rows(world, _COUNTED) != rows(world, _TRUTH), "it is not counted again"


def test_each_transition_is_counted_once(world: World) -> None:
    world.apps("a")
    world.submit("a")
    assert counts_all(world) > 0
    assert counts_all(world) == 0
    assert rows(world, _STEPS) == {(2,)}, "requested and made ready"
    world.finish("a")
    counts_all(world)
    assert rows(world, _STEPS) == {(5,)}, "claimed, recorded and succeeded"
    assert rows(world, _COUNTED) == rows(world, _TRUTH)


def test_counting_waits_for_a_transaction_that_commits_late(world: World) -> None:
    """The late transaction has smaller transition ids than another transaction, which has already committed."""
    world.apps("a")
    for key in "12":
        world.submit("a", key)
    counts_all(world)
    with closing(Ledger(world.url, connections=1, clock=lambda: world.now)) as other, other.begin() as late:
        late.write(_PUT_OFF, key="1")
        world.ledger.transact(lambda tx: tx.write(_PUT_OFF, key="2"))
        for _ in range(10):
            world.now += timedelta(seconds=state_counts.EVERY_S + 1)
            assert world.ledger.transact(state_counts.count) == 0
            assert world.ledger.transact(standing) == {"a": {State.READY: 1, State.WAITING: 1}}
    assert counts_all(world) == 4, "two ids for each row"
    assert rows(world, _COUNTED) == rows(world, _TRUTH)


_PAUSED = number(State.READY, VerbBy(PAUSE, By.PLANNER))
_RELEASED = number(State.WAITING, VerbBy(MAKE_READY, By.PLANNER))
_PUT_OFF = f"""
WITH moved AS (UPDATE job SET state = 'waiting' WHERE key = %(key)s AND state = 'ready' RETURNING *)
INSERT INTO history (job, at, kind, round, claim) SELECT id, changed_at, {_PAUSED}, round, claim FROM moved
"""


def test_the_time_that_jobs_stay_in_a_state_is_counted(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.now += timedelta(seconds=10)
    claimed = world.claim("a")
    assert claimed is not None
    began = world.now
    counts_all(world)  # So the start and the end of the stay are counted in different passes.
    world.now = began + timedelta(seconds=60)
    assert world.record(claimed)
    counts_all(world)
    stays = rows(
        world, "SELECT state, bucket, stays, seconds FROM state_duration WHERE state IN ('ready', 'running')"
    )
    assert stays == {
        ("ready", state_counts.BUCKETS_S.index(10.0), 1, 10.0),
        ("running", state_counts.BUCKETS_S.index(60.0), 1, 60.0),
    }, "a stay as long as a bound is within it"


def test_transitions_are_counted_by_the_minute(world: World) -> None:
    world.apps("a")
    world.submit("a", "1")
    world.finish("a/1")
    world.now += timedelta(minutes=5)
    world.submit("a", "2")
    world.finish("a/2")
    wanted = (State.RUNNING, State.SUCCEEDED)
    first = world.ledger.transact(lambda tx: minutes(tx, 10, wanted))
    assert [(each.state, each.entered) for each in first] == [(State.RUNNING, 1), (State.SUCCEEDED, 1)] * 2
    assert [after.minute - before.minute for before, after in pairwise(first[1::2])] == [timedelta(minutes=5)]
    counts_all(world)
    assert world.ledger.transact(lambda tx: minutes(tx, 10, wanted)) == first
    assert len(world.ledger.transact(lambda tx: minutes(tx, 3, wanted))) == 2, "no more than is asked for"


def test_counts_by_the_minute_are_removed_after_25_hours(world: World) -> None:
    world.apps("a")
    world.submit("a", "1")
    counts_all(world)
    world.now += timedelta(seconds=state_counts.MINUTES_KEPT_S + 60)
    world.submit("a", "2")
    counts_all(world)
    assert len(rows(world, "SELECT minute FROM state_count_minute")) == 1


def test_lost_runs_are_counted_with_the_component_that_found_them(world: World) -> None:
    world.apps("a")
    world.submit("a")
    assert world.claim("a") is not None
    world.tick(after_s=60)
    counts_all(world)
    lost = rows(world, "SELECT by, steps FROM transition_count WHERE lost = 'lease lost'")
    assert (lost, str(Lost.LEASE_LOST)) == ({("groomer", 1)}, "lease lost")


def test_only_one_transaction_counts_at_a_time(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.now += timedelta(seconds=state_counts.EVERY_S + 1)
    with closing(Ledger(world.url, connections=1, clock=lambda: world.now)) as other, other.begin() as tx:
        state_counts.count(tx)
        assert world.ledger.transact(state_counts.count) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_are_exact_with_concurrent_transitions_and_counts(world: World, seed: int) -> None:
    """Four threads move jobs and sometimes roll back, and two threads count. The counts are exact at each check."""
    rng = random.Random(seed)
    world.apps("a, b, c")
    for app in "abc":
        for key in range(20):
            world.submit(app, str(key))
    with ThreadPoolExecutor(6) as pool:
        movers = [pool.submit(_moves, world, rng.randrange(1000)) for _ in range(4)]
        counters = [
            pool.submit(_counts, world, lambda: all(each.done() for each in movers)) for _ in range(2)
        ]
        while not all(each.done() for each in movers):
            assert world.ledger.transact(breaches) == []
        moved = sum((each.result() for each in movers), Counter())
        for each in counters:
            each.result()
    world.now += timedelta(days=1)  # Later than the clocks of the two counting threads.
    counts_all(world)
    assert rows(world, _COUNTED) == rows(world, _TRUTH)
    entered = dict(
        world.ledger.transact(lambda tx: tx.rows("SELECT state, sum(entered) FROM state_count GROUP BY 1"))
    )
    assert (entered["ready"], entered["waiting"]) == (60 + moved["ready"], 60 + moved["waiting"])


_SWING = f"""
WITH held AS (SELECT id, state FROM job WHERE id = %(job)s FOR UPDATE SKIP LOCKED),
moved AS (
    UPDATE job SET state = CASE job.state WHEN 'ready' THEN 'waiting' ELSE 'ready' END FROM held
    WHERE job.id = held.id RETURNING job.*),
logged AS (
    INSERT INTO history (job, at, kind, round, claim)
    SELECT id, changed_at, CASE state WHEN 'ready' THEN {_RELEASED} ELSE {_PAUSED} END, round, claim FROM moved)
SELECT state FROM moved
"""


class _GivesUp(Exception):
    pass


def _moves(world: World, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    moved: Counter[str] = Counter()
    with closing(Ledger(world.url, connections=1, clock=lambda: world.now)) as ledger:

        def work(tx: Tx) -> list[str]:
            targets = [
                target
                for job in sorted(rng.sample(range(1, 61), rng.randrange(1, 5)))
                for target in tx.column(_SWING, job=job)
            ]
            if rng.random() < 0.2:
                raise _GivesUp
            return targets

        for _ in range(150):
            try:
                moved.update(ledger.transact(work))
            except _GivesUp:
                continue
    return moved


def _counts(world: World, is_over: Callable[[], bool]) -> None:
    """Count until the other threads are done. On each read of the clock, counting is due."""
    seconds = count(step=10)
    late = closing(
        Ledger(world.url, connections=1, clock=lambda: world.now + timedelta(seconds=next(seconds)))
    )
    with late as ledger:
        while not is_over():
            ledger.transact(state_counts.count)


def test_pruning_counts_the_transitions_that_were_not_counted_before(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", "1")
    world.finish("a/1")
    counts_all(world)
    world.finish("b/1")
    world.submit("b", "2")
    world.now += timedelta(days=1)
    assert world.ledger.transact(lambda tx: removal.prune(tx, keep_s=60, limit=10)).removed.jobs == 2
    assert world.ledger.transact(standing) == {
        "a": {State.SUCCEEDED: 1, State.READY: 1},
        "b": {State.SUCCEEDED: 1, State.WAITING: 1},
    }
    counts_all(world)
    assert rows(world, _COUNTED) == rows(world, _TRUTH)
    ends = "SELECT steps FROM transition_count WHERE verb = 'succeed'"
    assert rows(world, ends) == {(2,)}
