"""Slots of a pool: how a job gets one, gives it up, and stops waiting for one."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Cancel
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger.slot_queue import run_all, waiting_for_slot
from tests.world import LEASE_S, World


def _taken(world: World) -> ClaimedJob:
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
    assert world.record(_taken(world), Ending.VERSION_UNAVAILABLE)


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
def test_a_job_that_gives_up_its_slot_admits_the_next_job(
    world: World, leave: Callable[[World], None], max_timeouts: int, max_losses: int
) -> None:
    terms = {"timeout": 10, "max_timeouts": max_timeouts, "max_losses": max_losses, "max_fails": 1}
    world.apps("a", concurrency=1, **terms)
    end_before = (world.now + timedelta(hours=1)).isoformat()
    world.submit("a", "one", id="one", policy={"end_before": end_before, "priority": 1})
    world.submit("a", "two")
    world.lose_messages()
    # An immediate retry would be more urgent and would be admitted before the other job, so its priority is lowered.
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET priority = -1 WHERE key = 'one'"))
    leave(world)
    assert world.ready() == {"a/two"}
    assert [hint.app for hint in world.offered] == ["a"], "the next job must be announced to workers"


def test_a_job_that_is_handed_back_keeps_its_slot(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "one")
    world.submit("a", "two")
    world.record(_taken(world), Ending.HANDED_BACK)
    assert (world.ready(), waiting_for_slot(world)) == ({"a/one"}, ["a/two"])


def test_long_running_work_keeps_its_slot_while_no_worker_holds_it(world: World) -> None:
    manager = {"job_type": "tests.ledger.test_poll_races:Grid", "is_long_running": True}
    world.define({"a": {"job_id": "{x}", "concurrency": 1, **manager}})
    world.submit("a", "one", id="one")
    world.submit("a", "two")
    assert (
        transactions.detach(world.ledger, _taken(world).right, {"pid": 7}, every_s=5.0, external_status="")
        is not None
    )
    world.tick(after_s=100)
    assert waiting_for_slot(world) == ["a/two"]
    world.cancel("one")
    assert world.ready() == {"a/two"}


# Jobs that stop waiting for a slot.


def test_jobs_of_a_paused_submission_stop_waiting_for_a_slot_until_it_is_resumed(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "first")
    world.submit("a", "second", id="second")
    world.submit("a", "third")
    world.pause("second")
    assert waiting_for_slot(world) == ["a/third"]
    world.finish("a/first")
    assert world.ready() == {"a/third"}
    world.resume("second")
    assert waiting_for_slot(world) == ["a/second"]
    assert run_all(world) == ["a/third", "a/second"]


def test_a_cancelled_or_expired_job_stops_waiting_for_a_slot(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "first")
    world.submit("a", "second", id="second")
    world.submit("a", "third", policy={"end_before": (world.now + timedelta(hours=1)).isoformat()})
    world.cancel("second")
    assert waiting_for_slot(world) == ["a/third"]
    world.tick(after_s=3601)
    assert (world.state("a/third"), waiting_for_slot(world)) == (State.EXPIRED, [])


def test_a_job_past_its_deadline_gets_no_slot(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", "first")
    world.submit("a", "second", policy={"end_before": (world.now + timedelta(seconds=5)).isoformat()})
    world.submit("a", "third")
    world.now += timedelta(seconds=6)
    world.finish("a/first")
    assert world.ready() == {"a/third"}


def test_a_job_that_must_wait_for_a_parent_again_stops_waiting_for_a_slot(world: World) -> None:
    world.apps("a -> b", concurrency={"key": "{app_name}", "limit": 1})
    world.submit("b", "other")
    world.finish("a/other")
    world.submit("b", "1")
    world.finish("a")
    assert waiting_for_slot(world) == ["b/1"]
    world.submit("a", "1", rerun="job")
    assert (waiting_for_slot(world), world.state("b")) == ([], State.WAITING)
    world.finish("a")
    assert waiting_for_slot(world) == ["b/1"]
    assert run_all(world) == ["b/other", "b"]
