"""Claims in the transaction that plans jobs, for a worker that has a free thread."""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from sluice.actors.client import Client
from sluice.actors.executor.transactions import Capacity
from sluice.actors.planner.handlers import PlanResult, plan_and_claim
from sluice.broker.messages import Execute, Plan
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.lifecycle import submissions
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import LEASE_S, World


def _always(*_: object) -> bool:
    return True


def _plan(
    world: World,
    *wanted: Submission,
    serves: Callable[[str], bool] = _always,
    reserve: Callable[[], bool] = _always,
    at_once: int = 1,
) -> PlanResult:
    """Receive and plan these submissions as a process does that has one free thread."""
    world.ledger.transact(lambda tx: submissions.receive(tx, wanted))
    ids = tuple(submission.require_id() for submission in wanted)
    capacity = Capacity(world.worker, serves, lambda _: at_once, reserve)
    return plan_and_claim(world.ledger, world.catalogue, Plan(submissions=ids), capacity=capacity)


def _names(taken: list[ClaimedJob]) -> list[str]:
    return [str(job.name) for job in taken]


def _one(app: str = "a", key: str = "1", **words: object) -> Submission:
    return msgspec.convert({"app": app, "key": key, "id": f"{app} {key}", **words}, Submission)


def _announced(planned: PlanResult) -> int:
    return sum(len(message.jobs) for message in planned.messages if isinstance(message, Execute))


def test_a_planned_job_is_claimed_without_a_message(world: World) -> None:
    world.apps("a -> b")
    planned = _plan(world, _one())
    assert (_names(planned.taken), planned.messages) == (["a/1"], [])
    moved = world.ledger.transact(lambda tx: tx.rows("SELECT source, target FROM transition ORDER BY id"))
    assert moved == [("-", State.WAITING), (State.WAITING, State.READY), (State.READY, State.RUNNING)]
    world.record(planned.taken[0])
    assert world.state("a") is State.SUCCEEDED


def test_a_job_is_announced_if_no_thread_is_free_or_its_app_is_not_served(world: World) -> None:
    world.apps("a, b")
    busy = _plan(world, _one("a"), reserve=lambda: False)
    unserved = _plan(world, _one("b"), serves=lambda app: app != "b")
    for planned, app in ((busy, "a"), (unserved, "b")):
        assert (planned.taken, _announced(planned), world.state(app)) == ([], 1, State.READY)


def test_no_thread_is_reserved_if_there_is_nothing_to_claim(world: World) -> None:
    asked: list[str] = []

    def reserve() -> bool:
        asked.append("reserved")
        return True

    world.apps("a -> b")
    world.submit("a")
    _plan(world, _one("b"), reserve=reserve)
    assert asked == []


def test_more_urgent_jobs_of_the_app_are_claimed_first(world: World) -> None:
    world.apps("a")
    world.submit("a", "urgent", policy={"priority": 5})
    planned = _plan(world, _one())
    assert (_names(planned.taken), _announced(planned), world.state("a")) == (["a/urgent"], 1, State.READY)


def test_no_more_jobs_are_claimed_than_the_worker_takes_at_once(world: World) -> None:
    world.apps("a")
    wanted = [_one(key=str(number)) for number in range(5)]
    planned = _plan(world, *wanted, at_once=3)
    assert (len(planned.taken), _announced(planned)) == (3, 2)


def test_jobs_of_a_paused_app_are_not_claimed(world: World) -> None:
    world.apps("a")
    Client(world.ledger, world.queue.extend).pause_apps(["a"], by="ann")
    planned = _plan(world, _one())
    assert (planned.taken, world.state("a")) == ([], State.READY)


def test_jobs_of_a_pool_wait_for_a_slot(world: World) -> None:
    world.apps("a", concurrency={"pool": "p", "limit": 1})
    planned = _plan(world, _one(key="1"), _one(key="2"), at_once=2)
    assert (planned.taken, _announced(planned)) == ([], 1)


def test_jobs_of_a_large_submission_are_announced(world: World) -> None:
    world.apps("a")
    keys = tuple(str(number) for number in range(submissions.FEW_KEYS + 1))
    planned = _plan(world, Submission(app="a", keys=keys, id="large"))
    assert (planned.taken, _announced(planned)) == ([], len(keys))


def test_a_worker_without_a_lease_claims_nothing(world: World) -> None:
    world.apps("a")
    world.now += timedelta(seconds=LEASE_S + 1)
    planned = _plan(world, _one())
    assert (planned.taken, _announced(planned), world.state("a")) == ([], 1, State.READY)


def test_children_that_wait_for_a_job_to_run_are_released_by_its_claim(world: World) -> None:
    job = {"job_id": "{x}", "bash_cmd": "true"}
    world.define({"a": job, "b": job | {"depends_on": {"app_name": ["a"], "when": "running"}}})
    planned = _plan(world, _one("b"))
    assert (_names(planned.taken), world.state("b"), _announced(planned)) == (["a/1"], State.READY, 1)


def test_a_plan_that_is_repeated_claims_nothing(world: World) -> None:
    world.apps("a")
    assert _plan(world, _one()).taken
    again = _plan(world, _one())
    assert (again.taken, again.messages) == ([], [])
