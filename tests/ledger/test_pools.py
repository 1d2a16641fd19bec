"""Pools: no more than so many of their jobs are dispatched, and whoever waits for a slot gets one."""

from jobs.states import State
from tests.world import World


def test_no_more_jobs_of_an_app_are_dispatched_than_its_limit(world: World) -> None:
    world.apps("a", concurrency=2)
    for key in "1234":
        world.submit("a", key)
    assert world.ready() == {"a", "a/2"}
    assert [world.field(f"a/{key}", "queued") for key in "1234"] == [False, False, True, True]
    world.finish("a")
    assert world.ready() == {"a/2", "a/3"}


def test_twelve_jobs_of_a_pool_of_one_run_in_the_order_of_their_numbers(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a", None, keys=[str(number) for number in range(1, 13)])
    order = []
    while ready := world.ready():
        (name,) = ready
        order.append(name)
        world.finish(name)
    assert order == ["a", *(f"a/{number}" for number in range(2, 13))]
    assert set(world.states().values()) == {State.SUCCEEDED}
