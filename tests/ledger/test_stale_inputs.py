"""Stale inputs: parents that succeeded longer ago than ``max_lag`` run again before a requested child."""

from typing import Any

import pytest

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.job_graph.reruns import STALE_INPUT
from tests.acceptance.story import states
from tests.ledger.lags import HOUR_S, begun, done, lags
from tests.world import World

CHAIN = "a; b: a(6h); c: b(6h)"


def runs(world: World, app: str) -> int:
    return world.history(app).count(State.RUNNING)


@pytest.mark.parametrize(
    ("lag", "after_s", "again"),
    [
        ("6h", 6 * HOUR_S, False),
        ("6h", 6 * HOUR_S + 1, True),
        (360, 6 * HOUR_S, False),
        (0.5, 30, False),
        (0.5, 31, True),
        ("90s", 91, True),
        (0, 1, True),
        (0, 0, True),
    ],
)
def test_an_input_runs_again_if_it_is_older_than_max_lag_or_max_lag_is_zero(
    world: World, lag: Any, after_s: float, again: bool
) -> None:
    world.define(lags("a; c", c={"depends_on": {"app_name": ["a"], "max_lag": lag}}))
    done(world, "a", hours_ago=after_s / HOUR_S)
    world.submit("c")
    assert world.states() == states("ready a, waiting c" if again else "succeeded a, ready c")


def test_the_child_waits_for_the_new_run_of_a_stale_parent(world: World) -> None:
    world.define(lags("a; b: a(6h)"))
    done(world, "a", hours_ago=7)
    id_ = world.submit("b")
    claimed = begun(world, "a")
    assert world.states() == states("running a, waiting b")
    world.record(claimed)
    assert world.states() == states("succeeded a, ready b")
    world.finish("b")
    assert (runs(world, "a"), runs(world, "b")) == (2, 1)
    assert world.submission(id_) == "succeeded"


def test_a_stale_parent_of_a_stale_parent_runs_again_too(world: World) -> None:
    world.define(lags(CHAIN))
    done(world, "a", "b", hours_ago=7)
    world.submit("c")
    assert world.states() == states("ready a, waiting b c")


def test_nothing_above_a_fresh_parent_runs_again(world: World) -> None:
    world.define(lags(CHAIN))
    done(world, "a", hours_ago=4)
    done(world, "b", hours_ago=3)
    world.submit("c")
    assert world.states() == states("succeeded a b, ready c")


def test_a_parent_without_max_lag_runs_again_with_its_old_inputs(world: World) -> None:
    world.define(lags("a; b: a; c: b(6h)"))
    done(world, "a", "b", hours_ago=7)
    world.submit("c")
    assert world.states() == states("succeeded a, ready b, waiting c")


def test_a_succeeded_job_does_not_run_again_because_its_inputs_are_stale(world: World) -> None:
    world.define(lags(CHAIN))
    done(world, "a", "b", hours_ago=7)
    world.submit("b", push="wanted")
    assert world.states() == states("succeeded a b")
    world.submit("b", rerun="job")
    assert world.states() == states("ready a, waiting b")


def test_a_cancelled_job_that_is_requested_again_checks_its_inputs(world: World) -> None:
    world.define(lags(CHAIN))
    done(world, "a", hours_ago=1)
    world.cancel(world.submit("b", push="wanted"))
    assert world.states() == states("succeeded a, cancelled b")
    world.tick(after_s=7 * HOUR_S)
    world.submit("b", push="wanted")
    assert world.states() == states("ready a, waiting b")


def test_an_expected_job_that_is_requested_checks_its_inputs(world: World) -> None:
    world.define(lags("a; z; b: a(6h); d: z b"))
    done(world, "a", hours_ago=7)
    world.submit("z")
    world.finish("z")
    assert world.states() == states("succeeded a z, expected b, waiting d")
    world.submit("b")
    assert world.states() == states("ready a, succeeded z, waiting b d")


def test_a_job_under_way_keeps_the_inputs_it_was_planned_with(world: World) -> None:
    world.define(lags("a; z; c: a(1h) z"))
    done(world, "a", hours_ago=0)
    world.submit("c", push="wanted")
    world.tick(after_s=2 * HOUR_S)
    world.submit("c", push="wanted")
    assert world.states() == states("succeeded a, ready z, waiting c")
    world.finish("z")
    world.submit("c", push="wanted")
    assert world.states() == states("succeeded a z, ready c")


def test_a_pushed_child_does_not_check_the_age_of_its_other_parents(world: World) -> None:
    world.define(lags("a; z; c: a(6h) z(6h)"))
    done(world, "a", hours_ago=7)
    world.submit("z")
    world.finish("z")
    assert world.states() == states("succeeded a z, ready c")


@pytest.mark.parametrize("state", [State.WAITING, State.READY, State.RUNNING, State.EXECUTED])
def test_a_parent_that_is_already_under_way_does_not_run_once_more(world: World, state: State) -> None:
    world.define(lags("z; a: z; c: a(0)"))
    done(world, "z", "a", hours_ago=1)
    world.submit("z" if state is State.WAITING else "a", rerun="downstream", push="wanted")
    claimed = begun(world, "a") if state in (State.RUNNING, State.EXECUTED) else None
    if claimed and state is State.EXECUTED:
        transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    assert world.state("a") is state
    world.submit("c", push="wanted")
    assert (world.state("a"), world.state("c")) == (state, State.WAITING)
    if claimed and state is State.RUNNING:
        world.record(claimed)
    world.tick(after_s=60)
    while others := world.ready() - {"c"}:
        world.finish(min(others))
    assert (runs(world, "a"), world.state("c")) == (2, State.READY)


def test_a_failed_parent_does_not_run_again_because_of_its_age(world: World) -> None:
    world.define(lags("a; c: a(6h)"))
    world.submit("a", push="wanted")
    world.finish("a", Ending.ERROR)
    world.tick(after_s=7 * HOUR_S)
    world.submit("c")
    assert world.states() == states("failed a, upstream_failed c")


def test_the_child_fails_upstream_if_the_new_run_of_its_parent_fails(world: World) -> None:
    world.define(lags("a; c: a(6h)"))
    done(world, "a", hours_ago=7)
    id_ = world.submit("c")
    world.finish("a", Ending.ERROR)
    assert world.states() == states("failed a, upstream_failed c")
    assert world.submission(id_) == "failed"


def test_a_new_run_of_a_stale_parent_revives_only_its_unsuccessful_children(world: World) -> None:
    """An explicit rerun of the parent has the same effect."""
    letter = {"depends_on": {"app_name": ["a"], "when": "failed"}}
    world.define(lags("a; model: a; letter; c: a(6h)", letter=letter))
    done(world, "a", "model", hours_ago=0)
    world.submit("letter")
    assert world.states() == states("succeeded a model, skipped letter")
    world.tick(after_s=7 * HOUR_S)
    world.submit("c")
    assert world.states() == states("ready a, succeeded model, waiting letter c")


def test_the_shorter_of_two_lags_applies(world: World) -> None:
    world.define(lags("a; z; c: a(6h) a(1h) z(6h)"))
    done(world, "a", "z", hours_ago=2)
    world.submit("c")
    assert world.states() == states("ready a, succeeded z, waiting c")


def test_two_children_in_one_plan_both_wait_for_a_parent_that_is_stale_for_one(world: World) -> None:
    world.define(lags("a; b: a(6h); c: a(1h); d: b c"))
    done(world, "a", hours_ago=2)
    world.submit("d")
    assert world.states() == states("ready a, waiting b c d")
    world.finish("a")
    assert world.ready() == {"b", "c"}


def test_max_lag_applies_to_parents_by_key_and_by_function(world: World) -> None:
    by_key = {
        "depends_on": {"app_name": ["a"], "job_id": ["7"], "max_lag": "6h"},
        "autofill_values": {"x": [1]},
    }
    weeks = {"_func": "tests.planner.two_ways:Weeks", "app_name": ["day"], "max_lag": "6h"}
    day = {"job_id": "{date}_{shop}", "identifiers": {"date": "date"}}
    week = {"job_id": "{week}_{shop}", "depends_on": weeks}
    world.define(lags("a; c; day; week", c=by_key, day=day, week=week))
    world.submit("a", "7", push="wanted")
    world.finish("a/7")
    days = [f"202601{day:02}_graz" for day in range(5, 12)]
    world.submit("day", None, keys=days, push="wanted")
    for each in days:
        world.finish(f"day/{each}")
    world.tick(after_s=7 * HOUR_S)
    world.submit("c")
    world.submit("week", "2026-W02_graz")
    assert world.ready() == {"a/7", *(f"day/{each}" for each in days)}


def test_a_requested_parent_runs_again_for_its_requested_child(world: World) -> None:
    """Without the child, the request would neither run the parent again nor check its inputs."""
    yesterday = {"_func": "tests.planner.two_ways:Yesterday", "app_name": ["run"], "max_lag": "6h"}
    world.define({"run": {"job_id": "{date}", "identifiers": {"date": "date"}, "depends_on": yesterday}})
    world.submit("run", "20260102", push="wanted")
    for day in ("20260101", "20260102"):
        world.finish(f"run/{day}")
    world.tick(after_s=7 * HOUR_S)
    world.submit("run", None, keys=["20260102", "20260103"], push="wanted")
    assert world.ready() == {"run/20260101"}


def test_two_submissions_run_a_parent_that_is_stale_for_both_once(world: World) -> None:
    world.define(lags("a; b: a(6h); c: a(1h)"))
    done(world, "a", hours_ago=7)
    world.submit("b")
    world.submit("c")
    assert world.states() == states("ready a, waiting b c")
    world.finish("a")
    assert world.ready() == {"b", "c"}
    assert runs(world, "a") == 2


def test_the_history_contains_the_reason_for_the_new_run(world: World) -> None:
    world.define(lags("a; c: a(6h)"))
    done(world, "a", hours_ago=7)
    world.submit("c")
    sql = "SELECT job, verb, note FROM transition WHERE note IS NOT NULL"
    assert world.ledger.transact(lambda tx: tx.rows(sql)) == [(world.known("a").id, "rerun", STALE_INPUT)]


def test_a_stale_input_runs_again_with_the_terms_of_the_new_submission(world: World) -> None:
    world.define(lags("a; c: a(6h)"))
    done(world, "a", hours_ago=7)
    world.submit("c", policy={"priority": 7, "max_fails": 2}, kwargs={"n": 1})
    assert [world.field("a", column) for column in ("priority", "max_fails", "kwargs")] == [7, 2, {"n": 1}]


def test_a_cancellation_includes_the_new_run_and_the_next_submission_starts_it_again(world: World) -> None:
    world.define(lags("a; c: a(6h)"))
    done(world, "a", hours_ago=7)
    world.cancel(world.submit("c"))
    assert world.states() == states("cancelled a c")
    world.submit("c")
    assert world.states() == states("ready a, waiting c")


def test_a_stale_input_that_its_filter_now_excludes_is_used_as_it_is(world: World) -> None:
    world.define(lags("a; c: a(6h)"))
    done(world, "a", hours_ago=7)
    world.define(lags("a; c: a(6h)", a={"valid_if_or": {"x": ["9"]}}))
    world.submit("c")
    assert world.states() == states("succeeded a, ready c")


def test_a_failed_parent_that_is_rerun_with_its_child_checks_its_inputs_too(world: World) -> None:
    world.define(lags(CHAIN))
    done(world, "a", hours_ago=1)
    world.submit("c", push="wanted")
    world.finish("b", Ending.ERROR)
    assert world.states() == states("succeeded a, failed b, upstream_failed c")
    world.tick(after_s=6 * HOUR_S)
    world.submit("c", rerun="job")
    assert world.states() == states("ready a, waiting b c")
