"""A group with a parent that succeeded too long ago can still be met, and is not met already."""

from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from tests.acceptance.story import states
from tests.ledger.lags import HOUR_S, done, lags
from tests.world import World

#: ``b`` is chosen where ``a`` is too old, for it stands first.
EITHER = "a; b; c: b | a(6h)"


def test_a_group_that_is_met_goes_before_one_with_a_stale_input(world: World) -> None:
    world.define(lags("a; b; c: a(6h) | b"))
    done(world, "a", "b", hours_ago=7)
    world.submit("c")
    assert world.states() == states("succeeded a b, ready c")


def test_a_group_that_is_under_way_goes_before_one_with_a_stale_input(world: World) -> None:
    world.define(lags("a; b; c: a(0) | b"))
    done(world, "a", hours_ago=7)
    world.submit("b")
    world.submit("c")
    assert world.states() == states("succeeded a, ready b, waiting c")


def test_the_first_group_goes_before_others_that_nobody_has_begun(world: World) -> None:
    world.define(lags("a; b; c: a(6h) | b"))
    done(world, "a", hours_ago=7)
    world.submit("c")
    assert world.states() == states("ready a, expected b, waiting c")


def test_a_stale_input_of_another_group_does_not_let_the_child_run(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    for _ in range(2):
        world.submit("c")
        assert world.states() == states("succeeded a, ready b, waiting c")
    world.finish("b")
    assert world.state("c") is State.READY


def test_it_is_run_again_once_the_group_that_was_chosen_is_lost(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    world.submit("c")
    world.finish("b", Ending.ERROR)
    assert world.states() == states("ready a, failed b, waiting c")
    world.finish("a")
    assert world.state("c") is State.READY


def test_whoever_runs_it_again_meanwhile_opens_that_way_too(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    world.submit("c")
    world.submit("a", rerun="job", push="wanted")
    world.finish("a")
    assert world.states() == states("succeeded a, ready b c")


def test_all_at_once_runs_what_is_stale_in_any(world: World) -> None:
    world.define(lags(EITHER))
    done(world, "a", hours_ago=7)
    world.submit("c", policy={"pull": "all"})
    assert world.states() == states("ready a b, waiting c")


def test_a_job_that_runs_again_discounts_what_has_grown_too_old_since(world: World) -> None:
    """Also where it may have run by that way before."""
    world.define(lags("a; b; c: b(1h) | a(6h)"))
    done(world, "a", "b", "c", hours_ago=7)
    world.submit("c", rerun="job")
    assert world.states() == states("succeeded a, ready b, waiting c")


def test_a_lag_that_is_shortened_has_nothing_run_again_for_who_waits_already(
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


def test_a_way_that_was_fresh_when_it_was_lost_is_looked_at_no_more(world: World) -> None:
    """``b`` succeeded in time for ``c``, which waits for ``z`` by the same way; by the other, ``a`` is too old."""
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
