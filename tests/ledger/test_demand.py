"""Demand for workers, present and expected soon, on ledgers with known jobs."""

import json
import re
from datetime import timedelta
from typing import Any

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.external_work import detach
from sluice.ledger.limits import app_pauses
from sluice.ledger.reads import backlog as module
from sluice.ledger.reads.backlog import ASKED_MAX, PARENTS_OF_APP, Demand, demand
from sluice.ledger.stats import runtimes
from tests.ledger.flights import Sagas
from tests.ledger.lineages import ask, lineage
from tests.world import World

_MANY = """
INSERT INTO job (app, key, state, unblocked, created_at, changed_at)
SELECT 'old' || mod(n, 3), %(state)s::text || n, %(state)s::text, false, now(), now() FROM generate_series(1, 20000) n
"""
APP = {"job_id": "{x}", "bash_cmd": "true"}


def _asked(world: World, *apps: str, **words: Any) -> dict[str, Demand]:
    found = world.ledger.transact(lambda tx: demand(tx, apps, **words))
    return {each.app: each for each in found}


def _counts(world: World, **words: Any) -> dict[str, tuple[int, int, int, int]]:
    """Return for each app the numbers of ready, running, soon ready and blocked jobs."""
    found = _asked(world, **words).values()
    assert all(each.demand == each.ready + each.running + each.soon for each in found)
    assert not any(each.at_least for each in found)
    return {each.app: (each.ready, each.running, each.soon, each.blocked) for each in found}


def _child(*parents: str, **words: Any) -> dict[str, Any]:
    return {**APP, "depends_on": {"app_name": list(parents)} | words}


def test_without_work_no_app_is_returned(world: World) -> None:
    assert _counts(world) == {}
    world.apps("a")
    world.submit("a")
    world.finish("a")
    assert _counts(world) == {}


def test_a_requested_app_is_returned_even_without_jobs_in_the_ledger(world: World) -> None:
    assert _asked(world, "a.b") == {"a.b": Demand(app="a.b")}
    assert _asked(world, known=["new"]) == {"new": Demand(app="new")}


def test_only_the_next_app_of_a_chain_is_soon_ready(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    assert _counts(world) == {"a": (1, 0, 0, 0), "b": (0, 0, 1, 0)}
    claimed = world.claim("a")
    assert claimed is not None
    assert _counts(world) == {"a": (0, 1, 0, 0), "b": (0, 0, 1, 0)}
    world.record(claimed)
    assert _counts(world) == {"b": (1, 0, 0, 0), "c": (0, 0, 1, 0)}


def test_a_child_is_soon_ready_once_its_parents_are_ready_or_running(world: World) -> None:
    world.apps("a -> c, b -> c, z -> b")
    world.submit("c")
    assert _counts(world) == {"a": (1, 0, 0, 0), "z": (1, 0, 0, 0), "b": (0, 0, 1, 0)}
    world.finish("z")
    assert _counts(world) == {"a": (1, 0, 0, 0), "b": (1, 0, 0, 0), "c": (0, 0, 1, 0)}
    world.finish("a")
    assert _counts(world) == {"b": (1, 0, 0, 0), "c": (0, 0, 1, 0)}


def test_a_job_with_two_alternatives_counts_once(world: World) -> None:
    gates = {"first": {"app_name": ["a"]}, "second": {"app_name": ["b"]}}
    world.define({"a": APP, "b": APP, "c": {**APP, "depends_on": gates}})
    world.submit("a")
    world.submit("b")
    world.submit("c")
    assert _counts(world)["c"] == (0, 0, 1, 0)


def test_children_of_parents_that_take_longer_than_the_horizon_do_not_count(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.ledger.transact(lambda tx: runtimes.note(tx, [("a", 3600.0)]))
    assert "b" not in _counts(world)
    assert _counts(world, horizon_s=3600.0)["b"] == (0, 0, 1, 0)
    assert world.claim("a") is not None
    assert "b" not in _counts(world)
    world.now += timedelta(seconds=3545)
    assert _counts(world)["b"] == (0, 0, 1, 0)


def test_a_child_that_needs_a_failure_is_not_expected(world: World) -> None:
    world.define({"a": APP, "after": _child("a"), "cleanup": _child("a", when="failed")})
    world.submit("after")
    world.submit("cleanup")
    assert _counts(world) == {"a": (1, 0, 0, 0), "after": (0, 0, 1, 0)}


def test_a_job_with_a_start_time_is_soon_ready_once_that_is_near(world: World) -> None:
    world.apps("a")
    world.submit("a", policy={"start_after": (world.now + timedelta(minutes=5)).isoformat()})
    assert _counts(world) == {}
    assert _counts(world, horizon_s=300.0) == {"a": (0, 0, 1, 0)}
    world.now += timedelta(minutes=4)
    assert _counts(world) == {"a": (0, 0, 1, 0)}


def test_a_retry_is_soon_ready_once_its_time_is_near(world: World) -> None:
    world.apps("a", max_fails=1, retry={"rule": "fixed", "seconds": 100})
    world.submit("a")
    world.finish("a", Ending.ERROR)
    assert _counts(world) == {}
    world.now += timedelta(seconds=50)
    assert _counts(world) == {"a": (0, 0, 1, 0)}


def test_a_child_with_a_later_start_time_is_not_soon_ready(world: World) -> None:
    world.apps("a -> b")
    world.submit("a")
    world.submit("b", policy={"start_after": (world.now + timedelta(hours=1)).isoformat()})
    assert "b" not in _counts(world)


def test_an_expired_job_does_not_count(world: World) -> None:
    world.apps("a")
    world.submit("a", policy={"end_before": (world.now + timedelta(minutes=1)).isoformat()})
    assert _counts(world) == {"a": (1, 0, 0, 0)}
    world.now += timedelta(minutes=2)
    assert _counts(world) == {}


def test_paused_jobs_are_blocked(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("a")
    world.submit("b", "2", id="other")
    world.pause(submission)
    assert _counts(world) == {"a": (1, 0, 0, 1), "b": (0, 0, 1, 0)}
    world.pause("other")
    assert _counts(world) == {"a": (0, 0, 0, 2)}


def test_jobs_of_a_paused_app_are_blocked_and_their_children_not_expected(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    world.submit("b", "2")
    claimed = world.claim("a")
    assert claimed is not None
    world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by=None))
    assert _counts(world) == {"a": (0, 1, 0, 1), "b": (0, 0, 1, 0)}
    world.ledger.transact(lambda tx: app_pauses.pause(tx, ["b"], by=None))
    assert _counts(world) == {"a": (0, 1, 0, 1)}
    world.record(claimed)
    assert _counts(world) == {"a": (0, 0, 0, 1), "b": (0, 0, 0, 1)}
    world.ledger.transact(lambda tx: app_pauses.resume(tx, ["a", "b"]))
    assert _counts(world) == {"a": (1, 0, 0, 0), "b": (1, 0, 1, 0), "c": (0, 0, 1, 0)}


def test_jobs_that_wait_for_a_slot_are_blocked(world: World) -> None:
    world.apps("a", concurrency=2)
    world.submit("a", None, keys=["1", "2", "3", "4", "5"])
    assert _counts(world) == {"a": (2, 0, 0, 3)}
    assert world.claim("a") is not None
    assert _counts(world) == {"a": (1, 1, 0, 3)}


def test_no_more_jobs_are_soon_ready_than_their_pool_has_slots(world: World) -> None:
    world.define({"a": APP, "b": _child("a") | {"concurrency": 2}})
    world.submit("b", None, keys=["1", "2", "3", "4"])
    assert _counts(world) == {"a": (4, 0, 0, 0), "b": (0, 0, 2, 0)}
    world.finish("a")
    assert _counts(world) == {"a": (3, 0, 0, 0), "b": (1, 0, 1, 0)}


def test_the_slots_of_a_shared_pool_are_counted_once(world: World) -> None:
    shared = {"concurrency": {"pool": "db", "limit": 3}}
    world.define({"a": APP, "b": _child("a") | shared, "c": _child("a") | shared})
    world.submit("b", None, keys=["1", "2"])
    world.submit("c", None, keys=["1", "2"])
    found = _counts(world)
    assert found["b"][2] + found["c"][2] == 3


def test_a_waiting_saga_does_not_count_until_its_wait_is_nearly_over(world: World) -> None:
    world.apps("a")
    world.submit("a")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved", within_s=600.0)
    assert world.state("a") is State.SUSPENDED
    assert _counts(world) == {}
    world.now += timedelta(seconds=550)
    assert _counts(world) == {"a": (0, 0, 1, 0)}


def test_a_saga_that_waits_only_for_an_event_does_not_count(world: World) -> None:
    world.apps("a")
    world.submit("a")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    assert _counts(world, horizon_s=1e9) == {}


def test_chunks_count_like_any_job(world: World) -> None:
    chunk = {"bash_cmd": "true", "chunk_size": 10}
    world.define({"load": chunk, "sum": {**chunk, "dependencies": [{"job_type": "load", "max_lag": 0}]}})
    world.submit("sum", None, work_ids=list(range(30)))
    assert _counts(world) == {"load": (3, 0, 0, 0), "sum": (0, 0, 3, 0)}


def test_steps_that_wait_for_partitions_from_elsewhere_are_not_expected(world: World) -> None:
    world.define(lineage("raw, join*7: raw, out: events"))
    ask(world, "join", "2024-04-01", "2024-04-07")
    ask(world, "out", "2024-04-01", "2024-04-02")
    assert _counts(world) == {"raw": (7, 0, 0, 0), "join": (0, 0, 1, 0)}
    world.land("events", "2024-04-01")
    assert _counts(world)["out"] == (1, 0, 0, 0)


def test_external_work_needs_one_worker_that_polls_it(world: World) -> None:
    unending = {"job_id": "{x}", "job_type": "tests.ledger.test_poll_races:Grid", "is_long_running": True}
    world.define({"far": unending})
    world.submit("far", None, keys=["1", "2"])
    for job in ("far", "far/2"):
        claimed = world.claim(job)
        assert claimed is not None
        world.ledger.transact(lambda tx, right=claimed.right: detach(tx, right, "w1", poll_interval_s=60.0))
    assert _asked(world) == {"far": Demand(app="far", elsewhere=2, demand=1)}


def test_the_demand_is_a_lower_bound_if_not_all_parents_are_read(world: World) -> None:
    world.apps("a -> b")
    asked = PARENTS_OF_APP[1]
    world.submit("b", None, keys=[str(key) for key in range(asked + 1)])
    found = _asked(world)
    assert found["a"] == Demand(app="a", ready=asked + 1, demand=asked + 1)
    assert found["b"] == Demand(app="b", soon=asked, demand=asked, at_least=True)


def test_the_demand_is_a_lower_bound_if_not_all_waiting_jobs_are_read(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", None, keys=[str(key) for key in range(ASKED_MAX)])
    assert _asked(world, "b")["b"].at_least


def test_jobs_are_counted_without_reading_all_of_them(world: World) -> None:
    bounds = {"many": [False] * 3, "parents": 1000, "needs": 5000, "horizon_s": 60.0}
    words = {"apps": ["old0", "old1", "old2"], **bounds}
    with world.ledger.begin() as tx, tx.connection.transaction(force_rollback=True):
        for state in (State.SUCCEEDED, State.WAITING):
            tx.write(_MANY, state=state)
        tx.write("ANALYZE job")
        for sql in (module._APPS, module._COUNTED, module._SOON, module._IN_LINE, module._ELSEWHERE):
            asked = {name: value for name, value in words.items() if f"%({name})s" in sql}
            (plan,) = tx.column(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", **asked)
            assert not re.search(r'"Seq Scan"[^{}]*"Relation Name": "job"', json.dumps(plan)), plan
