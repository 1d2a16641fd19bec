"""Whoever finds an input too old meets others who plan, run, judge or cancel it: stopped at every statement, it runs
again once, and whoever asked gets his job."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors import executor, planner
from broker.messages import Cancel, Execute, Executed, Submit, Turn
from jobs.outcome import Ending, Outcome
from jobs.states import LIVE, State
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.ledger.lags import done, lags
from tests.ledger.races import race, world_for_a_race
from tests.world import LEASE_S, World, taken_in

#: No handler here has more statements than this.
STATEMENTS_MAX = 80

Act = Callable[[Ledger], list[Any]]
#: Two acts, and how often ``a`` has run in the end.
Meeting = tuple[Act, Act, int]


def stale(world: World) -> None:
    """``c`` and ``d`` need ``a`` no older than an hour, and it is older; ``f`` may have ``b`` instead."""
    world.define(lags("a; b; c: a(1h); d: a(1h); f: b | a(1h)"))
    done(world, "a", hours_ago=2)
    world.worker = world.hire()


def plan(world: World, app: str, **words: object) -> Act:
    request = msgspec.Raw(msgspec.json.encode({"app": app, "key": "1", "push": "wanted", **words}))
    message = Submit(id=f"plan-{app}", submission=request)
    return lambda ledger: taken_in(ledger, world.catalogue, message)


def _two_plans(world: World) -> Meeting:
    stale(world)
    return plan(world, "c"), plan(world, "d"), 2


def _a_plan_and_a_rerun(world: World) -> Meeting:
    stale(world)
    return plan(world, "c"), plan(world, "a", rerun="job"), 2


def _a_plan_and_the_claim_of_the_new_run(world: World) -> Meeting:
    stale(world)
    world.submit("d", push="wanted")
    message = Execute(app="a", jobs=(Turn(world.known("a").id, 0),))
    worker = world.hire()
    return (
        plan(world, "c"),
        lambda ledger: list(executor.claim(ledger, world.catalogue, message, worker)[1]),
        3,  # The worker that claims it is never heard of again.
    )


def _a_plan_and_the_judgement_of_the_new_run(world: World) -> Meeting:
    stale(world)
    world.submit("d", push="wanted")
    claimed = world.claim("a")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    message = Executed(jobs=(claimed.id,))
    return plan(world, "c"), lambda ledger: list(planner.executed(ledger, world.catalogue, message)), 2


def _a_plan_and_the_end_of_another_way(world: World) -> Meeting:
    stale(world)
    world.submit("f", push="wanted")
    claimed = world.claim("b")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.ERROR)})
    message = Executed(jobs=(claimed.id,))
    return plan(world, "c"), lambda ledger: list(planner.executed(ledger, world.catalogue, message)), 2


def _a_plan_and_a_whole_run(world: World) -> Meeting:
    """What it found too old may not be that any more when it comes to write."""
    stale(world)
    id_, worker = world.known("a").id, world.hire()
    rerun = plan(world, "a", rerun="job")

    def act(ledger: Ledger) -> list[Any]:
        rerun(ledger)
        claimed, _ = executor.claim(ledger, world.catalogue, Execute(app="a", jobs=(Turn(id_, 0),)), worker)
        executor.record(ledger, {each.right: Outcome(ending=Ending.DONE) for each in claimed})
        return list(planner.executed(ledger, world.catalogue, Executed(jobs=(id_,))))

    return plan(world, "c"), act, 2


def _a_plan_and_a_cancellation(world: World) -> Meeting:
    """Nobody ran it for the one that is cancelled, so the other has it run."""
    stale(world)
    message = Cancel(submission=world.submit("d", push="wanted"))
    return plan(world, "c"), lambda ledger: list(planner.cancel(ledger, world.catalogue, message)), 2


MEETINGS = [
    _two_plans,
    _a_plan_and_a_rerun,
    _a_plan_and_a_whole_run,
    _a_plan_and_the_claim_of_the_new_run,
    _a_plan_and_the_judgement_of_the_new_run,
    _a_plan_and_the_end_of_another_way,
    _a_plan_and_a_cancellation,
]


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_stale_input_runs_again_once_whoever_else_is_about(
    embedded_url: str, arrange: Callable[[World], Meeting], swapped: bool
) -> None:
    for stop_before in range(STATEMENTS_MAX):
        with world_for_a_race(embedded_url) as world:
            first, second, runs = arrange(world)
            acts = (second, first) if swapped else (first, second)
            stopped, one, two = race(embedded_url, lambda world=world: world.now, *acts, stop_before)
            assert world.ledger.transact(breaches) == [], f"stopped before statement {stop_before}"
            world.queue.extend([*(one or []), *(two or [])])
            world.deliver()
            _work_off(world)
            assert world.state("c") is State.SUCCEEDED
            assert world.history("a").count(State.RUNNING) == runs
        if not stopped:
            return
    raise AssertionError("a handler has more statements than it should")


def _work_off(world: World) -> None:
    for _ in range(5):
        while ready := world.ready():
            world.finish(min(ready))
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=LEASE_S + 1)
        world.worker = world.hire()
