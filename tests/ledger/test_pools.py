"""Pools: no more than so many of their jobs are dispatched, and whoever waits for a slot gets one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from actors import executor
from broker.messages import Cancel
from jobs.errors import DefinitionError
from jobs.outcome import Ending
from jobs.states import State
from jobs.submission import SubmissionState
from ledger import grooming
from ledger.claims import Claimed
from ledger.grooming import Chore
from tests.ledger.bisecting import Farm
from tests.ledger.lineages import ask, lineage, ready, work_off
from tests.world import LEASE_S, World

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


def _in_line(world: World) -> list[str]:
    rows = world.ledger.transact(lambda tx: tx.rows("SELECT app, key FROM job WHERE queued ORDER BY id"))
    return [f"{app}/{key}" for app, key in rows]


def _pools(world: World) -> dict[str, str | None]:
    return dict(
        world.ledger.transact(lambda tx: tx.rows("SELECT app || '/' || key, pool FROM job ORDER BY id"))
    )


def _run_all(world: World) -> list[str]:
    """Run what is ready, one after the other; in which order that was."""
    order = []
    while found := sorted(world.ready()):
        order.append(found[0])
        world.finish(found[0])
    return order


# Who is let in.


def test_no_more_jobs_of_an_app_are_dispatched_than_its_limit(world: World) -> None:
    world.apps("a", concurrency=2)
    for key in "1234":
        world.submit("a", key)
    assert world.ready() == {"a", "a/2"}
    assert _in_line(world) == ["a/3", "a/4"]
    assert world.claim("a") is not None
    assert _in_line(world) == ["a/3", "a/4"]
    world.finish("a/2")
    assert world.ready() == {"a/3"}


def test_twelve_jobs_of_a_pool_of_one_run_in_the_order_of_their_numbers(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", None, keys=[str(number) for number in range(1, 13)])
    assert _run_all(world) == ["a", *(f"a/{number}" for number in range(2, 13))]
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_jobs_that_came_one_by_one_run_in_the_order_they_came(world: World) -> None:
    world.apps("a", concurrency=1)
    keys = [str(number) for number in range(12, 0, -1)]
    for key in keys:
        world.submit("a", key)
    assert _run_all(world) == [f"a/{key}" for key in keys if key != "1"] + ["a"]


def test_who_is_more_urgent_overtakes(world: World) -> None:
    world.apps("a", concurrency=1)
    tomorrow = (world.now + timedelta(days=1)).isoformat()
    for key, policy in {
        "first": {},
        "plain": {},
        "soon": {"end_before": tomorrow},
        "high": {"priority": 3},
    }.items():
        world.submit("a", key, policy=policy)
    assert _run_all(world) == ["a/first", "a/high", "a/soon", "a/plain"]


def test_who_is_asked_for_more_urgently_while_he_stands_in_line_overtakes(world: World) -> None:
    world.apps("a", concurrency=1)
    for key in ("first", "second", "third"):
        world.submit("a", key)
    world.submit("a", "third", policy={"priority": 1})
    assert _run_all(world) == ["a/first", "a/third", "a/second"]


def test_each_text_that_a_key_comes_to_is_a_pool(world: World) -> None:
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
    assert _in_line(world) == ["a/2", "b/3"]
    assert _pools(world)["warehouse/4"] == "warehouse"
    world.finish("a/0")
    assert _in_line(world) == ["b/3"]


def test_children_and_retries_stand_in_line_like_any_other(world: World) -> None:
    world.apps("a -> b", concurrency={"pool": "p", "limit": 1}, max_fails=1)
    world.submit("b", "1")
    world.submit("a", "2", push="wanted")
    world.finish("a", Ending.ERROR)
    assert (world.ready(), _in_line(world)) == ({"a/2"}, ["a/1"])
    assert _run_all(world) == ["a/2", "a", "b"]


def test_chunks_and_steps_are_counted_too(world: World) -> None:
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


def test_halves_have_the_pool_of_the_whole(world: World) -> None:
    farm = Farm(world, "a:4", concurrency={"key": "{job_id}", "limit": 1})
    farm.poison = {2}
    farm.submit("a", range(1, 5))
    farm.work()
    assert len(world.states()) == 5
    assert len(set(_pools(world).values())) == 1
    assert {id_ for _, ids in farm.good for id_ in ids} == {1, 3, 4}


def test_a_submission_may_have_a_limit_of_its_own(world: World) -> None:
    """Whoever wants less at once waits, and keeps nobody waiting behind him who does not."""
    world.apps("a", concurrency=2)
    world.submit("a", "1")
    world.submit("a", "2", policy={"concurrency": 1})
    world.submit("a", "3")
    assert (world.ready(), _in_line(world)) == ({"a", "a/3"}, ["a/2"])
    world.finish("a")
    assert _in_line(world) == ["a/2"]
    world.finish("a/3")
    assert world.ready() == {"a/2"}


def test_a_submission_whose_key_asks_for_what_jobs_have_not_is_refused(world: World) -> None:
    world.apps("a")
    id_ = world.submit("a", policy={"concurrency": {"key": "{y}", "limit": 1}})
    assert world.submission(id_) is SubmissionState.REFUSED
    assert "the key asks for {y}; there are {x}, {app_name}, {job_id}" in world.reason(id_)


def test_two_limits_for_one_pool_are_a_fault_that_names_both(world: World) -> None:
    pools = {
        app: WORDS | {"concurrency": {"pool": "p", "limit": limit}} for app, limit in (("a", 1), ("b", 2))
    }
    with pytest.raises(DefinitionError, match="pool p has a limit of 2 at b and of 1 at a"):
        world.define(pools)


# How a slot becomes free.


def _taken(world: World) -> Claimed:
    claimed = world.claim("a/one")
    assert claimed is not None
    return claimed


def _done(world: World) -> None:
    assert world.record(_taken(world))


def _failed(world: World) -> None:
    assert world.record(_taken(world), Ending.ERROR, error="it broke")


def _timed_out(world: World) -> None:
    assert world.record(_taken(world), Ending.TIMED_OUT)


def _suspended(world: World) -> None:
    assert world.record(_taken(world), Ending.SUSPENDED, event="rain")


def _not_here(world: World) -> None:
    assert world.record(_taken(world), Ending.NOT_HERE)


def _overdue(world: World) -> None:
    _taken(world)
    world.beat(world.worker)
    world.tick(after_s=13)


def _lost(world: World) -> None:
    _taken(world)
    world.tick(after_s=LEASE_S + 1)


def _cancelled_by_name(world: World) -> None:
    world.queue.append(Cancel(app="a", key="one"))
    world.deliver()


def _cancelled(world: World) -> None:
    world.cancel("one")


def _cancelled_while_it_runs(world: World) -> None:
    _taken(world)
    world.cancel("one")


def _paused(world: World) -> None:
    world.pause("one")


def _handed_back_while_paused(world: World) -> None:
    claimed = _taken(world)
    world.pause("one")
    assert world.ready() == set()
    world.record(claimed, Ending.HANDED_BACK)


def _expired(world: World) -> None:
    world.tick(after_s=3601)


@pytest.mark.parametrize("max_timeouts", [0, 1])
@pytest.mark.parametrize("max_losses", [0, 1])
@pytest.mark.parametrize(
    "leave",
    [
        _done,
        _failed,
        _timed_out,
        _suspended,
        _not_here,
        _overdue,
        _lost,
        _cancelled_by_name,
        _cancelled,
        _cancelled_while_it_runs,
        _paused,
        _handed_back_while_paused,
        _expired,
    ],
)
def test_whoever_gives_up_a_slot_lets_the_next_in(
    world: World, leave: Callable[[World], None], max_timeouts: int, max_losses: int
) -> None:
    terms = {"timeout": 10, "max_timeouts": max_timeouts, "max_losses": max_losses, "max_fails": 1}
    world.apps("a", concurrency=1, **terms)
    end_before = (world.now + timedelta(hours=1)).isoformat()
    world.submit("a", "one", id="one", policy={"end_before": end_before, "priority": 1})
    world.submit("a", "two")
    world.lose_messages()
    # What is tried again at once is the more urgent, and is let in before the other; so it is not tried at once.
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET priority = -1 WHERE key = 'one'"))
    leave(world)
    assert world.ready() == {"a/two"}
    assert [hint.app for hint in world.offered] == ["a"], "nobody would hear of it"


def test_a_job_that_is_handed_back_keeps_its_slot(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "one")
    world.submit("a", "two")
    world.record(_taken(world), Ending.HANDED_BACK)
    assert (world.ready(), _in_line(world)) == ({"a/one"}, ["a/two"])


def test_unending_work_has_a_slot_while_it_runs_without_a_worker(world: World) -> None:
    manager = {"job_type": "tests.ledger.test_watching_races:Grid", "is_long_running": True}
    world.define({"a": {"job_id": "{x}", "concurrency": 1, **manager}})
    world.submit("a", "one", id="one")
    world.submit("a", "two")
    assert executor.leave(world.ledger, _taken(world).right, {"pid": 7}, every_s=5.0, said="") is not None
    world.tick(after_s=100)
    assert _in_line(world) == ["a/two"]
    world.cancel("one")
    assert world.ready() == {"a/two"}


# Who leaves the line.


def test_the_jobs_of_a_paused_submission_give_way_and_line_up_again(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "first")
    world.submit("a", "second", id="second")
    world.submit("a", "third")
    world.pause("second")
    assert _in_line(world) == ["a/third"]
    world.finish("a/first")
    assert world.ready() == {"a/third"}
    world.resume("second")
    assert _in_line(world) == ["a/second"]
    assert _run_all(world) == ["a/third", "a/second"]


def test_who_is_cancelled_or_expires_leaves_the_line(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "first")
    world.submit("a", "second", id="second")
    world.submit("a", "third", policy={"end_before": (world.now + timedelta(hours=1)).isoformat()})
    world.cancel("second")
    assert _in_line(world) == ["a/third"]
    world.tick(after_s=3601)
    assert (world.state("a/third"), _in_line(world)) == (State.EXPIRED, [])


def test_who_has_expired_and_was_not_seen_to_is_not_let_in(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "first")
    world.submit("a", "second", policy={"end_before": (world.now + timedelta(seconds=5)).isoformat()})
    world.submit("a", "third")
    world.now += timedelta(seconds=6)
    world.finish("a/first")
    assert world.ready() == {"a/third"}


def test_who_has_to_wait_for_a_parent_again_leaves_the_line(world: World) -> None:
    world.apps("a -> b", concurrency={"key": "{app_name}", "limit": 1})
    world.submit("b", "other")
    world.finish("a/other")
    world.submit("b", "1")
    world.finish("a")
    assert _in_line(world) == ["b/1"]
    world.submit("a", "1", rerun="job")
    assert (_in_line(world), world.state("b")) == ([], State.WAITING)
    world.finish("a")
    assert _in_line(world) == ["b/1"]
    assert _run_all(world) == ["b/other", "b"]


# What a job is planned with.


def _limit_of(world: World, job: str) -> Any:
    return world.field(job, "pool"), world.field(job, "pool_limit")


def test_a_job_that_is_run_again_has_the_pool_of_the_definition_as_it_is(world: World) -> None:
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


def test_a_job_that_is_run_again_keeps_what_its_submission_said(world: World) -> None:
    key = {"key": "{kwargs.region}", "limit": 2}
    world.apps("a", concurrency=1)
    world.submit("a", "1", policy={"concurrency": key}, kwargs={"region": "eu"})
    world.finish("a")
    world.submit("a", "1", rerun="job")
    assert _limit_of(world, "a") == ("a:eu", 2)
    world.apps("b", concurrency=key)
    world.submit("b", "1", kwargs={"region": "eu"})
    world.finish("b")
    world.submit("b", "1", rerun="job")
    assert _limit_of(world, "b") == ("b:eu", 2)


def test_who_stands_in_line_has_a_higher_limit_once_he_is_asked_for_anew(world: World) -> None:
    world.apps("a", concurrency=1)
    for key in "123":
        world.submit("a", key)
    world.apps("a", concurrency=3)
    world.tick(after_s=5)
    assert _in_line(world) == ["a/2", "a/3"]
    world.submit("a", "2")
    assert (world.ready(), _in_line(world)) == ({"a", "a/2"}, ["a/3"])
    world.apps("a")
    world.submit("a", "3")
    assert world.ready() == {"a", "a/2", "a/3"}


# The groomer.


def _chores(world: World) -> set[Chore]:
    return world.ledger.transact(grooming.due)


def test_the_groomer_does_not_see_who_stands_in_line_behind_a_full_pool(world: World) -> None:
    world.apps("a", concurrency=1)
    for key in "123":
        world.submit("a", key)
    assert _chores(world) == set()


def test_the_groomer_lets_in_who_was_passed_over(world: World) -> None:
    """His row was held by somebody else at the moment when the slot became free."""
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


def test_the_groomer_lets_nobody_in_by_a_limit_that_is_not_his(world: World) -> None:
    world.apps("a", concurrency=2)
    world.submit("a", "1")
    world.submit("a", "2", policy={"concurrency": 1})
    assert _chores(world) == set()
