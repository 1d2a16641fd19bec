"""Hints that meet, and plans that lend to the same parents: stopped at every statement, nobody is taken twice."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors import executor, planner
from broker.messages import Execute, Executed, Submit, Turn
from jobs.outcome import Ending, Outcome
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.ledger.races import race, world_for_a_race
from tests.world import World, taken_in

#: No handler here has more statements than this.
STATEMENTS_MAX = 60

Act = Callable[[Ledger], list[Any]]


def hint(world: World, *jobs: str) -> Act:
    """Have a worker of its own claim by a message for these jobs; the keys that it gets."""
    turns = tuple(Turn(world.known(job).id, world.round(job)) for job in jobs)
    message = Execute(app=world.known(jobs[0]).app, jobs=turns)
    worker = world.hire()
    return lambda ledger: [job.key for job in executor.claim(ledger, world.catalogue, message, worker)[0]]


def plan(world: World, app: str, **words: object) -> Act:
    """Submit one job, and have it planned; what is sent."""
    request = msgspec.Raw(msgspec.json.encode({"app": app, "key": "1", **words}))
    message = Submit(id=f"plan-{app}", submission=request)
    return lambda ledger: taken_in(ledger, world.catalogue, message)


def meet(url: str, arrange: Callable[[World], tuple[Act, Act]], check: Callable[..., None]) -> None:
    """Stop the first of the two before each of its statements in turn, and let the second run into it."""
    for stop_before in range(STATEMENTS_MAX):
        with world_for_a_race(url) as world:
            first, second = arrange(world)
            stopped, one, two = race(url, lambda world=world: world.now, first, second, stop_before)
            assert world.ledger.transact(breaches) == [], f"stopped before statement {stop_before}"
            check(world, one, two)
        if not stopped:
            return
    raise AssertionError("a handler has more statements than it should")


def _queue(world: World, *low: str, high: tuple[str, ...] = ()) -> None:
    world.apps("a")
    for key in low:
        world.submit("a", key)
    for key in high:
        world.submit("a", key, policy={"priority": 1})


def _overlapping(world: World) -> tuple[Act, Act]:
    _queue(world, "1", "2", "3", "4", "5", high=("8", "9"))
    return hint(world, "a/1", "a/2", "a/3"), hint(world, "a/2", "a/3")


def _crosswise(world: World) -> tuple[Act, Act]:
    """The one names a job of low number and is after a high one, the other names both."""
    _queue(world, "1", "2", "3", "4", high=("9",))
    return hint(world, "a/1"), hint(world, "a/1", "a/9")


def _doubled(world: World) -> tuple[Act, Act]:
    _queue(world, "1", "2", "3")
    return hint(world, "a/2"), hint(world, "a/2")


@pytest.mark.parametrize(
    ("arrange", "places"), [(_overlapping, (3, 2)), (_crosswise, (1, 2)), (_doubled, (1, 1))]
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_hints_take_as_many_jobs_as_they_are_for_and_none_twice(
    embedded_url: str, arrange: Callable[[World], tuple[Act, Act]], places: tuple[int, int], swapped: bool
) -> None:
    def check(world: World, one: list[str], two: list[str]) -> None:
        assert len({*one, *two}) == sum(places)
        assert sorted(map(len, (one, two))) == sorted(places)

    meet(embedded_url, lambda world: arrange(world)[::-1] if swapped else arrange(world), check)


def test_the_most_urgent_job_is_taken_by_one_of_the_next_two_hints(embedded_url: str) -> None:
    def arrange(world: World) -> tuple[Act, Act]:
        _queue(world, "1", "2", high=("9",))
        return hint(world, "a/1"), hint(world, "a/2")

    def check(world: World, one: list[str], two: list[str]) -> None:
        assert "9" in [*one, *two]

    meet(embedded_url, arrange, check)


def _chain(world: World) -> None:
    """``d`` will need ``c``; ``c`` and what it needs are there at the lowest priority."""
    apps: dict[str, Any] = {name: {"job_id": "{x}", "bash_cmd": "true"} for name in "abcdef"}
    for parent, child in (("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("b", "f")):
        apps[child].setdefault("depends_on", {"app_name": []})["app_name"].append(parent)
    world.define(apps)


def _two_plans_above_one_parent(world: World) -> tuple[Act, Act]:
    _chain(world)
    world.submit("c", push="wanted")
    return plan(world, "d", policy={"priority": 5}), plan(world, "e", policy={"priority": 7})


def _a_plan_and_one_for_its_parents(world: World) -> tuple[Act, Act]:
    _chain(world)
    return plan(world, "d", policy={"priority": 7}), plan(world, "c", policy={"priority": 2})


def _a_plan_and_the_claim_of_its_parent(world: World) -> tuple[Act, Act]:
    _chain(world)
    world.submit("c", push="wanted")
    return plan(world, "d", policy={"priority": 7}), hint(world, "a")


def _a_plan_and_the_judgement_of_its_parent(world: World) -> tuple[Act, Act]:
    _chain(world)
    world.submit("c", push="wanted")
    claimed = world.claim("a")
    assert claimed is not None
    executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    return plan(world, "d", policy={"priority": 7}), _judging(world, claimed.id)


@pytest.mark.parametrize(
    "arrange",
    [
        _two_plans_above_one_parent,
        _a_plan_and_one_for_its_parents,
        _a_plan_and_the_claim_of_its_parent,
        _a_plan_and_the_judgement_of_its_parent,
    ],
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_whoever_plans_meanwhile_the_most_urgent_lends_to_all(
    embedded_url: str, arrange: Callable[[World], tuple[Act, Act]], swapped: bool
) -> None:
    def check(world: World, one: list[Any], two: list[Any]) -> None:
        assert {world.field(name, "priority") for name in "bc"} == {7}

    meet(embedded_url, lambda world: arrange(world)[::-1] if swapped else arrange(world), check)


def test_a_pushed_child_lends_past_its_parents_whoever_plans_those_meanwhile(embedded_url: str) -> None:
    """``c`` is pushed above ``p``, which waits for ``g``, which nobody asked for until now."""

    def arrange(world: World) -> tuple[Act, Act]:
        apps: dict[str, Any] = {name: {"job_id": "{x}", "bash_cmd": "true"} for name in "hgqpxc"}
        for parent, child in (("h", "g"), ("g", "p"), ("q", "p"), ("p", "c"), ("x", "c")):
            apps[child].setdefault("depends_on", {"app_name": []})["app_name"].append(parent)
        apps["c"]["priority"] = 7
        world.define(apps)
        world.submit("q")
        world.finish("q")
        world.submit("x")
        claimed = world.claim("x")
        assert claimed is not None
        executor.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
        return _judging(world, claimed.id), plan(world, "g", policy={"priority": 2})

    def check(world: World, one: list[Any], two: list[Any]) -> None:
        assert [world.field(name, "priority") for name in "pgh"] == [7, 7, 7]

    meet(embedded_url, arrange, check)
    meet(embedded_url, lambda world: arrange(world)[::-1], check)


def _judging(world: World, job: int) -> Act:
    return lambda ledger: list(planner.executed(ledger, world.catalogue, Executed(jobs=(job,))))
