"""Pools: no more jobs than the limit are dispatched, and each job that waits for a slot gets one."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from sluice.jobs.errors import DefinitionError
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.recovery.groomer_steps import Chore
from tests.ledger.lineages import ask, lineage, ready, work_off
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.slot_queue import run_all, waiting_for_slot
from tests.world import World

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


def _pools(world: World) -> dict[str, str | None]:
    return dict(
        world.ledger.transact(lambda tx: tx.rows("SELECT app || '/' || key, pool FROM job ORDER BY id"))
    )


# Admission to slots.


def test_no_more_jobs_of_an_app_are_dispatched_than_its_limit(world: World) -> None:
    world.apps("a", concurrency=2)
    for key in "1234":
        world.submit("a", key)
    assert world.ready() == {"a", "a/2"}
    assert waiting_for_slot(world) == ["a/3", "a/4"]
    assert world.claim("a") is not None
    assert waiting_for_slot(world) == ["a/3", "a/4"]
    world.finish("a/2")
    assert world.ready() == {"a/3"}


def test_twelve_jobs_of_a_pool_of_one_run_in_the_order_of_their_numbers(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", None, keys=[str(number) for number in range(1, 13)])
    assert run_all(world) == ["a", *(f"a/{number}" for number in range(2, 13))]
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_jobs_that_came_one_by_one_run_in_the_order_they_came(world: World) -> None:
    world.apps("a", concurrency=1)
    keys = [str(number) for number in range(12, 0, -1)]
    for key in keys:
        world.submit("a", key)
    assert run_all(world) == [f"a/{key}" for key in keys if key != "1"] + ["a"]


def test_a_more_urgent_job_gets_a_slot_first(world: World) -> None:
    world.apps("a", concurrency=1)
    tomorrow = (world.now + timedelta(days=1)).isoformat()
    for key, policy in {
        "first": {},
        "plain": {},
        "soon": {"end_before": tomorrow},
        "high": {"priority": 3},
    }.items():
        world.submit("a", key, policy=policy)
    assert run_all(world) == ["a/first", "a/high", "a/soon", "a/plain"]


def test_a_job_that_is_requested_more_urgently_while_it_waits_overtakes(world: World) -> None:
    world.apps("a", concurrency=1)
    for key in ("first", "second", "third"):
        world.submit("a", key)
    world.submit("a", "third", policy={"priority": 1})
    assert run_all(world) == ["a/first", "a/third", "a/second"]


def test_each_value_of_the_key_template_is_a_pool(world: World) -> None:
    key = {"key": "{client}-{kwargs.region}", "limit": 1}
    world.define({"a": {"job_id": "{date}_{client}", "bash_cmd": "true", "concurrency": key}})
    for name, region in (("1_x", "eu"), ("2_x", "eu"), ("3_y", "eu"), ("4_x", 7), ("5_x", None)):
        world.submit("a", name, kwargs={} if region is None else {"region": region})
    assert world.ready() == {"a/1_x", "a/3_y", "a/4_x", "a/5_x"}
    assert [*_pools(world).values()] == ["a:x-eu", "a:x-eu", "a:y-eu", "a:x-7", "a:x-"]


def test_apps_share_a_pool_that_both_name(world: World) -> None:
    pool = {"concurrency": {"pool": "warehouse", "limit": 2}}
    world.define({"a": WORDS | pool, "b": WORDS | pool, "warehouse": WORDS | {"concurrency": 1}})
    for app in ("a", "b", "a", "b", "warehouse"):
        world.submit(app, str(len(world.states())))
    assert waiting_for_slot(world) == ["a/2", "b/3"]
    assert _pools(world)["warehouse/4"] == "warehouse"
    world.finish("a/0")
    assert waiting_for_slot(world) == ["b/3"]


def test_children_and_retries_wait_for_a_slot_like_other_jobs(world: World) -> None:
    world.apps("a -> b", concurrency={"pool": "p", "limit": 1}, max_fails=1)
    world.submit("b", "1")
    world.submit("a", "2", push="wanted")
    world.finish("a", Ending.ERROR)
    assert (world.ready(), waiting_for_slot(world)) == ({"a/2"}, ["a/1"])
    assert run_all(world) == ["a/2", "a", "b"]


def test_chunks_and_partition_steps_occupy_slots(world: World) -> None:
    farm = Farm(world, "a:2", concurrency=1)
    farm.submit("a", range(1, 7))
    assert len(world.ready()) == 1
    farm.work()
    assert set(world.states().values()) == {State.SUCCEEDED}
    world.define(lineage("s", concurrency=2))
    ask(world, "s", "2024-04-01", "2024-04-05")
    assert len(ready(world)) == 2
    work_off(world)
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_the_halves_of_a_split_job_stay_in_its_pool(world: World) -> None:
    farm = Farm(world, "a:4", concurrency={"key": "{job_id}", "limit": 1})
    farm.poison = {2}
    farm.submit("a", range(1, 5))
    farm.work()
    assert len(world.states()) == 5
    assert len(set(_pools(world).values())) == 1
    assert {id_ for _, ids in farm.good for id_ in ids} == {1, 3, 4}


def test_a_submission_may_have_a_limit_of_its_own(world: World) -> None:
    """A job with a lower limit waits, and does not block the jobs behind it."""
    world.apps("a", concurrency=2, submitters_may_set=["concurrency"])
    world.submit("a", "1")
    world.submit("a", "2", policy={"concurrency": 1})
    world.submit("a", "3")
    assert (world.ready(), waiting_for_slot(world)) == ({"a", "a/3"}, ["a/2"])
    world.finish("a")
    assert waiting_for_slot(world) == ["a/2"]
    world.finish("a/3")
    assert world.ready() == {"a/2"}


def test_a_submission_that_sets_only_the_limit_keeps_the_pool_of_the_app(world: World) -> None:
    world.apps("a, b", concurrency={"pool": "p", "limit": 2}, submitters_may_set=["concurrency"])
    world.submit("a", "1")
    world.submit("a", "2", policy={"concurrency": 1})
    world.submit("b", "1", policy={"concurrency": 3})
    assert set(_pools(world).values()) == {"pool p"}
    assert (world.ready(), waiting_for_slot(world)) == ({"a", "b"}, ["a/2"])


def test_a_submission_that_sets_only_the_limit_keeps_the_pool_of_the_key(world: World) -> None:
    key = {"job_id": "{x}_{y}", "concurrency": {"key": "{y}", "limit": 2}}
    world.define({"a": WORDS | key | {"submitters_may_set": ["concurrency"]}})
    world.submit("a", "1_eu")
    for job in ("2_eu", "2_us"):
        world.submit("a", job, policy={"concurrency": 1})
    assert _pools(world) == {"a/1_eu": "a:eu", "a/2_eu": "a:eu", "a/2_us": "a:us"}
    assert (world.ready(), waiting_for_slot(world)) == ({"a/1_eu", "a/2_us"}, ["a/2_eu"])


def test_a_submission_is_refused_if_its_pool_key_uses_a_missing_identifier(world: World) -> None:
    world.apps("a", submitters_may_set=["concurrency"])
    id_ = world.submit("a", policy={"concurrency": {"key": "{y}", "limit": 1}})
    assert world.submission(id_) is SubmissionState.REFUSED
    assert "the key names {y}; there are {x}, {app_name}, {job_id}" in world.reason(id_)


def test_two_limits_for_one_pool_are_an_error_that_names_both(world: World) -> None:
    pools = {
        app: WORDS | {"concurrency": {"pool": "p", "limit": limit}} for app, limit in (("a", 1), ("b", 2))
    }
    with pytest.raises(DefinitionError, match="pool p has a limit of 2 at b and of 1 at a"):
        world.define(pools)


# Pool and limit that a job is planned with.


def _limit_of(world: World, job: str) -> Any:
    return world.field(job, "pool"), world.field(job, "pool_limit")


def test_a_rerun_job_has_the_pool_of_the_current_definition(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "1")
    world.finish("a")
    world.apps("a", concurrency={"pool": "p", "limit": 3})
    world.submit("a", "1", rerun="job")
    assert _limit_of(world, "a") == ("pool p", 3)
    world.finish("a")
    world.apps("a")
    world.submit("a", "1", rerun="job")
    assert _limit_of(world, "a") == (None, None)


def test_a_rerun_job_keeps_the_pool_that_its_submission_set(world: World) -> None:
    key = {"key": "{kwargs.region}", "limit": 2}
    world.apps("a", concurrency=1, submitters_may_set=["concurrency"])
    world.submit("a", "1", policy={"concurrency": key}, kwargs={"region": "eu"})
    world.finish("a")
    world.submit("a", "1", rerun="job")
    assert _limit_of(world, "a") == ("a:eu", 2)
    world.apps("b", concurrency=key)
    world.submit("b", "1", kwargs={"region": "eu"})
    world.finish("b")
    world.submit("b", "1", rerun="job")
    assert _limit_of(world, "b") == ("b:eu", 2)


def test_a_job_that_waits_for_a_slot_gets_a_changed_limit_when_requested_again(world: World) -> None:
    world.apps("a", concurrency=1)
    for key in "123":
        world.submit("a", key)
    world.apps("a", concurrency=3)
    world.tick(after_s=5)
    assert waiting_for_slot(world) == ["a/2", "a/3"]
    world.submit("a", "2")
    assert (world.ready(), waiting_for_slot(world)) == ({"a", "a/2"}, ["a/3"])
    world.apps("a")
    world.submit("a", "3")
    assert world.ready() == {"a", "a/2", "a/3"}


# The groomer.


def _chores(world: World) -> set[Chore]:
    return world.ledger.transact(groomer_steps.due)


def test_the_groomer_finds_nothing_to_do_behind_a_full_pool(world: World) -> None:
    world.apps("a", concurrency=1)
    for key in "123":
        world.submit("a", key)
    assert _chores(world) == set()


def test_the_groomer_admits_a_job_that_was_skipped(world: World) -> None:
    """Another transaction held the row of this job when the slot became free."""
    world.apps("a", concurrency=1)
    for key in "12":
        world.submit("a", key)
    claimed = world.claim("a")
    assert claimed is not None
    with psycopg.connect(world.url) as holder:
        holder.execute("SELECT 1 FROM job WHERE key = '2' FOR SHARE")
        assert world.record(claimed)
    assert (world.ready(), _chores(world)) == (set(), {Chore.ADMIT})
    world.tick()
    assert (world.ready(), _chores(world)) == ({"a/2"}, set())


def test_the_groomer_does_not_admit_a_job_above_its_own_limit(world: World) -> None:
    world.apps("a", concurrency=2, submitters_may_set=["concurrency"])
    world.submit("a", "1")
    world.submit("a", "2", policy={"concurrency": 1})
    assert _chores(world) == set()
