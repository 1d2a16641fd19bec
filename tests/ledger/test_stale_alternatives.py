"""Dependency groups with a parent that succeeded too long ago: such a group is not met, but can still be met."""

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.acceptance.story import states
from tests.ledger.lags import HOUR_S, done, lags
from tests.world import World

#: If ``a`` is too old, ``b`` is chosen, because its group is the first.
EITHER = "a; b; c: b | a(6h)"


def test_a_met_group_is_chosen_before_one_with_a_stale_input(world: World) -> None:
    world.define(lags("a; b; c: a(6h) | b"))
    done(world, "a", "b", hours_ago=7)
    world.submit("c")
    assert world.states() == states("succeeded a b, ready c")


def test_a_group_that_is_under_way_is_chosen_before_one_with_a_stale_input(world: World) -> None:
    world.define(lags("a; b; c: a(0) | b"))
    done(world, "a", hours_ago=7)
    world.submit("b")
    world.submit("c")
    assert world.states() == states("succeeded a, ready b, waiting c")


def test_the_first_group_is_chosen_if_no_other_has_started(world: World) -> None:
    world.define(lags("a; b; c: a(6h) | b"))
    done(world, "a", hours_ago=7)
    world.submit("c")
    assert world.states() == states("ready a, expected b, waiting c")


def test_a_stale_input_of_another_group_does_not_release_the_child(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    for _ in range(2):
        world.submit("c")
        assert world.states() == states("succeeded a, ready b, waiting c")
    world.finish("b")
    assert world.state("c") is State.READY


def test_a_stale_input_runs_again_if_the_chosen_group_is_lost(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    world.submit("c")
    world.finish("b", Ending.ERROR)
    assert world.states() == states("ready a, failed b, waiting c")
    world.finish("a")
    assert world.state("c") is State.READY


def test_a_rerun_of_a_stale_input_meets_its_group_too(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    world.submit("c")
    world.submit("a", rerun="job", push="wanted")
    world.finish("a")
    assert world.states() == states("succeeded a, ready b c")


def test_pull_all_runs_the_stale_inputs_of_every_group(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    world.submit("c", policy={"pull": "all"})
    assert world.states() == states("ready a b, waiting c")


def test_a_rerun_job_does_not_count_inputs_that_are_stale_now(world: World) -> None:
    """This applies also to the group that may have released the first run."""
    world.define(lags("a; b; c: b(1h) | a(6h)"))
    done(world, "a", "b", "c", hours_ago=7)
    world.submit("c", rerun="job")
    assert world.states() == states("succeeded a, ready b, waiting c")


def test_a_shorter_max_lag_runs_no_input_again_for_a_job_that_already_waits(
    world: World,
) -> None:
    world.define(lags("a; z; c: a(6h) z"))
    done(world, "a", hours_ago=2)
    world.submit("c")
    before = world.field("c", "digest")
    world.define(lags("a; z; c: a(1h) z"))
    world.submit("c")
    assert world.field("c", "digest") != before
    assert world.states() == states("succeeded a, ready z, waiting c")


def test_an_input_that_was_fresh_in_a_lost_group_does_not_run_again(world: World) -> None:
    """``b`` was fresh for the group of ``c`` that also needs ``z``. In the other group ``a`` is too old."""
    world.define(lags("a; b; z; c: z b(1h) | a(1h)"))
    done(world, "a", hours_ago=2)
    done(world, "b", hours_ago=0)
    world.submit("c")
    assert world.states() == states("succeeded a b, ready z, waiting c")
    world.tick(after_s=2 * HOUR_S)
    world.submit("c")
    assert world.states() == states("succeeded a b, ready z, waiting c")
    world.finish("z", Ending.ERROR)
    assert world.states() == states("ready a, succeeded b, failed z, waiting c")
