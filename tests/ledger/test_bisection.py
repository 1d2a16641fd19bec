"""Bisected chunks: each poison ID ends in a job of its own, and each other ID succeeds once."""

from collections import Counter
from math import ceil, log2

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.fixtures import empty
from sluice.ledger.schema.job_tables import job
from tests.ledger.poisoned_chunks import Farm
from tests.world import LEASE_S, World

ONE_WORLD = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


#: Columns that a half does not inherit from the whole. Its failures and dispatches are counted as of a new job.
OF_ITS_OWN = {
    *("id", "key", "work_ids", "bisected_from", "state", "unblocked", "created_at", "changed_at"),
    *("round", "claim", "fails", "timeouts", "losses", "worker", "deadline", "handle", "event"),
    *("not_before", "dispatched_at", "dispatch_attempts"),
}


def runs_max(ids: int, poisons: int) -> int:
    """Return the maximum number of runs: the whole, and for each poison ID two jobs per level."""
    return 1 + 2 * poisons * ceil(log2(ids)) if ids > 1 else 1


@pytest.mark.parametrize(
    ("ids", "poison"),
    [(ids, poison) for ids in (1, 2, 3, 7) for poison in range(1, ids + 1)]
    + [(100, poison) for poison in (1, 2, 49, 50, 51, 63, 99, 100)],
)
def test_one_poison_id_ends_alone(world: World, ids: int, poison: int) -> None:
    farm = Farm(world, f"a:{ids}")
    farm.poison = {poison}
    submission = farm.submit("a", [[1, ids]])
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, ids + 1))
    assert len(farm.runs) <= runs_max(ids, 1)
    assert world.submission(submission) is SubmissionState.FAILED


@ONE_WORLD
@given(data=st.data())
def test_any_poison_ids_end_alone(world: World, data: st.DataObject) -> None:
    world.ledger.transact(empty)
    world.worker = world.hire()
    ids = data.draw(st.lists(st.integers(-9, 30) | st.text("abcØ ,", min_size=1), unique=True, min_size=1))
    farm = Farm(world, f"a:{data.draw(st.integers(1, 12))} -> b:{data.draw(st.integers(1, 12))}")
    farm.poison = set(data.draw(st.lists(st.sampled_from(ids), max_size=4)))
    farm.submit("b", ids)
    farm.work()
    farm.assert_poison_stands_alone("a", ids)
    for chunk in farm.chunks("b"):
        stranded = farm.poison & set(chunk.ids)
        assert chunk.state is (State.UPSTREAM_FAILED if stranded else State.SUCCEEDED)


def test_several_poison_ids_end_alone(world: World) -> None:
    farm = Farm(world, "a:100")
    farm.poison = {3, 4, 71}
    farm.submit("a", [[1, 100]])
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 101))
    assert len(farm.runs) <= runs_max(100, 3)


def test_a_chunk_of_poison_ids_only_fails_one_by_one(world: World) -> None:
    farm = Farm(world, "a:5")
    farm.poison = {1, 2, 3, 4, 5}
    farm.submit("a", [[1, 5]])
    farm.work()
    farm.assert_poison_stands_alone("a", range(1, 6))
    assert len(farm.runs) == 2 * 5 - 1


def test_work_ids_may_be_texts(world: World) -> None:
    farm = Farm(world, "a:6")
    farm.poison = {"me@home", 7}
    farm.submit("a", [7, 8, "north", "me@home", "south@1", "west"])
    farm.work()
    farm.assert_poison_stands_alone("a", [7, 8, "north", "me@home", "south@1", "west"])
    assert {chunk.name for chunk in farm.chunks("a")} >= {
        "a/me@home@1",
        "a/7-8,me@home@1",
        "a/north,south@1,west@1",
    }


def test_the_submission_succeeds_if_both_halves_succeed(world: World) -> None:
    """The failure of the whole was not caused by any ID."""
    farm = Farm(world, "a:4 -> b:4")
    submission = farm.submit("b", [[1, 4]])
    farm.run("a/1-4@1", fails=True)
    farm.work()
    assert world.states() == {
        "a/1-4@1": State.SPLIT,
        "a/1-2@1": State.SUCCEEDED,
        "a/3-4@1": State.SUCCEEDED,
        "b/1-4@1": State.SUCCEEDED,
    }
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_chunk_is_split_after_its_last_try(world: World) -> None:
    farm = Farm(world, "a:2", max_fails=1)
    farm.poison = {2}
    farm.submit("a", [1, 2])
    farm.work()
    assert Counter(farm.runs) == {("a", (1, 2)): 2, ("a", (1,)): 1, ("a", (2,)): 2}


def test_only_chunks_with_the_policy_bisect_are_split(world: World) -> None:
    farm = Farm(world, "a:4", on_failure="fail")
    farm.submit("a", [[1, 4]])
    farm.submit("a", [[1, 4]], policy={"on_failure": "bisect"})
    farm.poison = {1}
    farm.work()
    assert world.state("a/1-4@1") is State.FAILED
    assert world.state("a/1-4@2") is State.SPLIT


def test_children_without_poison_ids_succeed(world: World) -> None:
    farm = Farm(world, "a:6 -> b:2")
    farm.poison = {5}
    submission = farm.submit("b", [[1, 6]])
    farm.work()
    states = world.states()
    assert [states[f"b/{ids}@1"] for ids in ("1-2", "3-4", "5-6")] == [
        State.SUCCEEDED,
        State.SUCCEEDED,
        State.UPSTREAM_FAILED,
    ]
    assert world.submission(submission) is SubmissionState.FAILED


def test_a_child_waits_only_for_halves_with_which_it_shares_ids(world: World) -> None:
    farm = Farm(world, "a:6 -> b:4")
    farm.submit("b", [[1, 6]])
    farm.run("a/1-6@1", fails=True)
    farm.run("a/4-6@1")
    assert world.ready() == {"a/1-3@1", "b/5-6@1"}
    farm.run("a/1-3@1")
    assert world.ready() == {"b/1-4@1", "b/5-6@1"}


def test_halves_inherit_the_terms_of_the_whole(world: World) -> None:
    farm = Farm(
        world, "a:4", max_fails=2, timeout="9s", retry={"rule": "fixed", "seconds": 0}, freshness_by=["n"]
    )
    deadline = "2026-01-01T01:00:00Z"
    words = {"kwargs": {"n": 1}, "policy": {"priority": 3, "end_before": deadline, "max_fails": 0}}
    farm.submit("a", [[1, 4]], **words)
    farm.run("a/1-4@1", fails=True)
    terms = ", ".join(column.name for column in job.columns if column.name not in OF_ITS_OWN)
    whole, *halves = world.ledger.transact(lambda tx: tx.rows(f"SELECT {terms} FROM job ORDER BY id"))
    assert halves == [whole, whole]
    assert world.history("a/1-2@1") == [State.WAITING, State.READY]


def test_the_ids_of_successful_halves_are_fresh(world: World) -> None:
    farm = Farm(world, "a:4 -> b:4")
    farm.poison = {4}
    farm.submit("b", [[1, 4]])
    farm.work()
    fresh = world.ledger.transact(lambda tx: tx.column("SELECT work_id FROM freshness WHERE app = 'a'"))
    assert sorted(fresh) == ["1", "2", "3"]


def test_a_half_is_announced_in_its_own_notification(world: World) -> None:
    """One half may kill its worker, and must not take other jobs along."""
    farm = Farm(world, "a:4")
    farm.submit("a", [[1, 16]])
    world.ledger.transact(lambda tx: tx.write("INSERT INTO app_runtime (app, mean_s) VALUES ('a', 0.001)"))
    world.offered.clear()
    farm.run("a/5-8@1", fails=True)
    assert [len(message.jobs) for message in world.offered] == [1, 1]
    world.lose_messages()
    world.tick(after_s=11)
    assert sorted(len(message.jobs) for message in world.offered) == [1, 1, 3]


def test_a_chunk_that_runs_over_its_timeout_is_split(world: World) -> None:
    farm = Farm(world, "a:2 -> b:2", timeout=5)
    farm.submit("b", [1, 2])
    world.claim("a/1-2@1")
    world.tick(after_s=8)
    assert world.history("a/1-2@1")[-2:] == [State.TIMED_OUT, State.SPLIT]
    farm.work()
    assert world.state("b/1-2@1") is State.SUCCEEDED


def test_a_chunk_is_split_if_its_worker_reports_the_timeout(world: World) -> None:
    farm = Farm(world, "a:2", timeout=5)
    farm.submit("a", [1, 2])
    world.finish("a/1-2@1", Ending.TIMED_OUT)
    assert world.ready() == {"a/1@1", "a/2@1"}


def test_a_poison_id_that_kills_its_worker_ends_alone(world: World) -> None:
    farm = Farm(world, "a:4", max_losses=1)
    farm.submit("a", [[1, 4]])
    for _ in range(30):
        for name in sorted(world.ready()):
            if 3 in farm.ids(name):
                assert world.claim(name, worker=world.hire())
            else:
                farm.run(name)
        world.tick(after_s=LEASE_S + 1)
        world.worker = world.hire()
    assert farm.come_to("a") == {1: State.SUCCEEDED, 2: State.SUCCEEDED, 3: State.FAILED, 4: State.SUCCEEDED}
    assert world.field("a/3@1", "losses") == 2


def test_a_chunk_that_is_about_to_be_split_does_not_fail_its_child(world: World) -> None:
    """The gates of its child are counted again because of another parent, before the timeout is propagated."""
    farm = Farm(world, "a:2 -> b:4", timeout=5)
    farm.submit("b", [[1, 4]])
    farm.run("a/1-2@1")
    news = farm.time_out("a/3-4@1")
    world.submit("a", "1-2@1", rerun="job")
    assert (world.state("a/3-4@1"), world.state("b/1-4@1")) == (State.TIMED_OUT, State.WAITING)
    world.queue.extend(news)
    world.deliver()
    farm.work()
    assert world.state("b/1-4@1") is State.SUCCEEDED


def test_a_chunk_that_is_rerun_before_its_split_runs_as_a_whole(world: World) -> None:
    farm = Farm(world, "a:2 -> b:2", timeout=5)
    farm.submit("b", [1, 2])
    news = farm.time_out("a/1-2@1")
    world.submit("a", "1-2@1", rerun="job")
    world.queue.extend(news)
    world.deliver()
    farm.work()
    assert world.states() == {"a/1-2@1": State.SUCCEEDED, "b/1-2@1": State.SUCCEEDED}
