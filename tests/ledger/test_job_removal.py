"""Removal of jobs that ended long ago, and of submissions without jobs."""

from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.retention import job_removal
from tests.ledger.ages import KEEP_S, later, prune
from tests.ledger.lineages import ask, lineage, states, there, work_off
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.results import one_done
from tests.ledger.trips import chain, fail
from tests.world import World


def removed(world: World, *, limit: int = 1000) -> tuple[int, int]:
    """Prune, and return how many jobs and submissions are removed."""
    while prune(world).jobs:
        pass
    jobs = world.ledger.transact(lambda tx: job_removal.remove_jobs(tx, keep_s=KEEP_S, limit=limit))
    gone = world.ledger.transact(lambda tx: job_removal.remove_submissions(tx, keep_s=KEEP_S, limit=limit))
    assert world.ledger.transact(breaches) == []
    return jobs.rows, gone.rows


def rows(world: World, table: str) -> int:
    found: Any = world.ledger.transact(lambda tx: tx.column(f"SELECT count(*) FROM {table}"))[0]
    return int(found)


def test_an_old_job_is_removed_with_all_rows_that_name_it(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", push="wanted")
    world.finish("a")
    world.finish("b")
    assert removed(world) == (0, 0)
    later(world, 29)
    assert removed(world) == (0, 0)
    later(world, 2)
    assert removed(world) == (2, 1)
    for table in ("job", "need", "gate", "submission_job", "submission", "round", "transition"):
        assert rows(world, table) == 0, table
    assert removed(world) == (0, 0)


def test_a_removed_job_is_planned_like_a_new_one_and_its_claims_continue(world: World) -> None:
    world.apps("a -> b", max_fails=1)
    world.submit("b", id="x")
    world.finish("a", Ending.ERROR)
    world.finish("a")
    world.finish("b")
    later(world)
    assert removed(world) == (2, 1)
    world.submit("b", id="x")
    assert world.states() == {"a": State.READY, "b": State.WAITING}
    world.finish("a")
    world.finish("b")
    assert world.submission("x") is SubmissionState.SUCCEEDED
    assert (world.field("a", "claim"), world.field("b", "claim")) == (3, 3), "claims 1 and 2 were given out"


def test_jobs_that_were_not_pruned_are_not_removed(world: World) -> None:
    one_done(world)
    later(world)
    assert removed(world) == (0, 0)


def test_a_job_that_a_recent_submission_requested_stays(world: World) -> None:
    world.apps("a")
    world.submit("a", id="old")
    world.finish("a")
    later(world, 20)
    world.submit("a", id="recent")
    later(world, 20)
    assert removed(world) == (0, 0)
    later(world, 20)
    assert removed(world) == (1, 2)


def test_a_parent_stays_while_a_recent_child_needs_it(world: World) -> None:
    world.apps("a -> b, a -> c")
    world.submit("b", push="wanted")
    world.finish("a")
    world.finish("b")
    later(world, 20)
    world.submit("c", push="wanted")
    world.finish("c")
    later(world, 20)
    assert removed(world) == (1, 0)
    assert world.states() == {"a": State.SUCCEEDED, "c": State.SUCCEEDED}
    later(world)
    assert removed(world) == (2, 2)


def test_a_parent_stays_while_a_child_could_not_run_because_of_it(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", push="wanted")
    world.finish("a", Ending.ERROR)
    later(world)
    assert removed(world) == (1, 0)
    assert world.states() == {"a": State.FAILED}
    assert removed(world) == (1, 1)


def test_a_spared_child_loses_its_met_dependency_and_gets_a_new_one_when_it_runs_again(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c", push="wanted")
    for job in "abc":
        world.finish(job)
    later(world, 20)
    world.submit("c", id="recent")
    later(world, 20)
    assert removed(world) == (2, 0)
    assert world.states() == {"c": State.SUCCEEDED}
    world.submit("c", push="wanted", rerun="job")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}
    for job in "abc":
        world.finish(job)
    assert world.state("c") is State.SUCCEEDED


def test_the_jobs_of_a_failed_saga_across_apps_stay_until_they_are_undone(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    later(world)
    assert removed(world) == (0, 0)
    for job in ("refund", "unbook"):
        world.finish(job)
    later(world)
    jobs = submissions = 0
    for _ in range(4):
        some, others = removed(world)
        jobs, submissions = jobs + some, submissions + others
    assert (rows(world, "job"), rows(world, "submission")) == (0, 0)
    assert submissions == 2


def test_partitions_stay_and_are_not_made_again(world: World) -> None:
    world.define(lineage("staging, daily: staging"))
    ask(world, "daily", "2024-04-01", "2024-04-03")
    work_off(world)
    made = there(world, "daily")
    later(world)
    assert removed(world) == (6, 1)
    assert there(world, "daily") == made
    assert rows(world, "partition WHERE job IS NOT NULL") == 0
    ask(world, "daily", "2024-04-02", "2024-04-04")
    assert states(world).keys() == {"staging/2024-04-04", "daily/2024-04-04"}
    work_off(world)
    assert len(there(world, "daily")) == len(made) + 1


def test_the_halves_of_a_split_chunk_are_removed_after_the_whole(world: World) -> None:
    farm = Farm(world, "a:8")
    farm.poison = {3}
    farm.submit("a", [[1, 8]])
    farm.work()
    later(world)
    freshness = rows(world, "freshness")
    while any(removed(world)):
        pass
    assert (rows(world, "job"), rows(world, "submission")) == (0, 0)
    assert rows(world, "freshness") == freshness > 0


def test_the_due_time_of_a_removed_submission_is_removed(world: World) -> None:
    world.apps("a")
    world.submit("a", id="x")
    world.finish("a")
    fired = (
        "INSERT INTO firing (schedule, due, outcome, submission, at) VALUES ('s', now(), 'fired', 'x', now())"
    )
    world.ledger.transact(lambda tx: tx.write(fired))
    later(world)
    assert removed(world) == (1, 1)
    assert rows(world, "firing") == 0


@pytest.mark.parametrize("size", [1, 2, 7])
def test_batches_continue_after_each_other(world: World, size: int) -> None:
    world.apps("a")
    for key in "12345":
        world.submit("a", key)
        world.finish(f"a/{key}")
    later(world)
    prune(world)
    place: int | None = 0
    sizes = []
    while place is not None:
        step = world.ledger.transact(
            lambda tx, place=place: job_removal.remove_jobs(tx, keep_s=KEEP_S, after=place, limit=size)
        )
        sizes.append(step.rows)
        place = step.place
    assert (sum(sizes), max(sizes)) == (5, min(size, 5))
    assert rows(world, "job") == 0
