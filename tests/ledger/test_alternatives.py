"""Jobs with alternatives: when the next one is requested, also if a parent or the definition has changed since."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World

ONE = {"job_id": "{x}", "bash_cmd": "true"}


@pytest.fixture
def two_ways(world: World) -> World:
    """Define ``last``, which needs ``a`` and ``d``, or ``b`` and ``c``. The latter two only need to have started."""
    ways = {"one": {"app_name": ["a", "d"]}, "two": {"app_name": ["b", "c"], "when": "running"}}
    world.define({**dict.fromkeys("abcd", ONE), "last": {**ONE, "depends_on": ways}})
    return world


def test_a_parent_that_ran_and_then_failed_still_satisfies_when_running(two_ways: World) -> None:
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


def test_an_undefined_child_app_does_not_prevent_the_judgement_of_a_failed_parent(two_ways: World) -> None:
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


def test_a_parent_with_a_lost_alternative_may_fail_if_its_child_has_another_one(world: World) -> None:
    middle = {"one": {"app_name": ["a"]}, "two": {"app_name": ["b"]}}
    ways = {"one": {"app_name": ["middle"]}, "two": {"app_name": ["c"]}}
    plain = ONE | {"max_fails": 0}
    apps = {"middle": plain | {"depends_on": middle}, "last": plain | {"depends_on": ways}}
    world.define({**dict.fromkeys("abc", plain), **apps})
    asked = world.submit("last", push="wanted")
    world.finish("a", Ending.ERROR)
    world.finish("b")
    world.finish("middle", Ending.ERROR)
    world.finish("c")
    world.finish("last")
    assert world.submission(asked) is SubmissionState.SUCCEEDED
