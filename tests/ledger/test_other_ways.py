"""Jobs with alternatives: who asks for the next one, whatever has become of the one before, or of the definitions."""

import pytest

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from tests.world import World

ONE = {"job_id": "{x}", "bash_cmd": "true"}


@pytest.fixture
def two_ways(world: World) -> World:
    """``last`` needs ``a`` and ``d``; or ``b`` and ``c``, which have to have begun and no more."""
    ways = {"one": {"app_name": ["a", "d"]}, "two": {"app_name": ["b", "c"], "when": "running"}}
    world.define({**dict.fromkeys("abcd", ONE), "last": {**ONE, "depends_on": ways}})
    return world


def test_a_parent_that_was_what_was_needed_and_failed_since_bars_no_way(two_ways: World) -> None:
    world = two_ways
    world.submit("a")
    world.finish("a")
    world.submit("d")
    world.finish("d", Ending.ERROR)
    world.submit("b")
    world.finish("b", Ending.ERROR)
    assert (world.state("last"), world.state("c")) == (State.WAITING, State.EXPECTED)
    world.submit("last")
    world.finish("c")
    world.finish("last")
    assert world.state("last") is State.SUCCEEDED


def test_who_cannot_ask_for_the_next_way_since_his_app_is_gone_stops_nobody(two_ways: World) -> None:
    world = two_ways
    world.submit("last")
    known = dict(world.defined)
    del world.defined["last"]
    world.define(world.defined)
    world.finish("a", Ending.ERROR)
    assert (world.state("a"), world.state("last")) == (State.FAILED, State.WAITING)
    world.define(known)
    world.submit("last")
    assert (world.state("b"), world.state("c")) == (State.READY, State.READY)
