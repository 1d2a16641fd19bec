"""Partitions that land again: what was made from them becomes stale, and the next plan makes it again."""

from typing import Any

import pytest

from sluice.actors.planner.landed_partitions import land, stale_partitions
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from tests.ledger.lineages import (
    acknowledge,
    ask,
    days,
    end,
    lineage,
    named,
    needs,
    ready,
    stale,
    states,
    take,
    there,
    times_made,
    work_off,
)
from tests.world import World

#: Each day of ``b`` reads the external table ``raw`` of the same day and of the day before.
CHAIN = lineage("b*3: raw-1, c*2: b")
B = "b/2024-04-02..2024-04-04"


def _landed(world: World, apps: dict[str, Any] = CHAIN) -> None:
    world.define(apps)
    world.land("raw", "2024-04-01..2024-04-07")


def _made(world: World) -> None:
    _landed(world)
    ask(world, "c", "2024-04-02", "2024-04-07")
    work_off(world)


def _again(world: World) -> dict[str, int]:
    """Return the number of partitions of each table that become stale when the third of April lands again."""
    landing = land(world.ledger, world.catalogue, "raw", ["2024-04-03"], again=True)
    world.queue.extend(landing.messages)
    world.deliver()
    return dict(landing.stale)


def _stale(world: World) -> dict[str, list[str]]:
    return {app: stale(world, app) for app in ("b", "c")}


def _restate(world: World, *of: Any) -> list[Submission]:
    submissions = world.ledger.transact(lambda tx: stale_partitions(tx, world.catalogue, *of))
    for each in submissions:
        world.submit(each.app, None, keys=list(each.keys or ()))
    return submissions


def test_existing_partitions_become_stale_transitively(world: World) -> None:
    _made(world)
    assert _again(world) == {"b": 2, "c": 2}
    assert _stale(world) == {"b": ["2024-04-03", "2024-04-04"], "c": ["2024-04-03", "2024-04-04"]}
    assert there(world, "c") == days("2024-04-02", "2024-04-07")
    assert not ready(world)


def test_without_again_a_landed_partition_changes_nothing(world: World) -> None:
    _made(world)
    assert world.land("raw", "2024-04-03") == 0
    assert _stale(world) == {"b": [], "c": []}


def test_a_partition_that_is_new_makes_nothing_stale(world: World) -> None:
    world.define({"b": {"bash_cmd": "true", "table_dependencies": [{"table": "raw", "cumulative": True}]}})
    world.land("raw", "2024-04-01..2024-04-05")
    ask(world, "b", "2024-04-03", "2024-04-05")
    work_off(world)
    assert world.land("raw", "2024-04-06", again=True) == 1
    assert stale(world, "b") == []
    assert world.land("raw", "2024-04-04", again=True) == 0
    assert stale(world, "b") == ["2024-04-03", "2024-04-04"]


def test_the_next_submission_makes_stale_partitions_again(world: World) -> None:
    _made(world)
    _again(world)
    id_ = ask(world, "c", "2024-04-02", "2024-04-04")
    assert ready(world) == {"b/2024-04-03..2024-04-04"}
    assert needs(world)["c/2024-04-03..2024-04-04"] == {"b/2024-04-03..2024-04-04"}
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert _stale(world) == {"b": [], "c": []}
    again = {day for day, times in times_made(world, "b").items() if times == 2}
    assert again == {"2024-04-03", "2024-04-04"}


def test_each_repetition_is_another_landing(world: World) -> None:
    _made(world)
    for _ in range(2):
        assert _again(world) == {"b": 2, "c": 2}
        _restate(world)
        work_off(world)
        assert _stale(world) == {"b": [], "c": []}
    assert times_made(world, "c")["2024-04-03"] == 3


@pytest.mark.parametrize("ending", [Ending.DONE, Ending.ERROR])
def test_a_job_that_was_running_ends_stale_in_any_round_in_which_it_succeeds(
    world: World, ending: Ending
) -> None:
    _landed(world, lineage("b*3: raw-1, c*2: b", max_fails=1))
    ask(world, "b", "2024-04-02", "2024-04-04")
    claimed = take(world, B)
    assert _again(world) == {"b": 2}
    assert world.record(claimed, ending, error=None if ending is Ending.DONE else "it broke")
    world.tick(after_s=60)
    world.worker = world.hire()
    work_off(world)
    assert there(world, "b") == days("2024-04-02", "2024-04-04")
    assert stale(world, "b") == ["2024-04-03", "2024-04-04"]


def test_partitions_that_a_running_job_has_acknowledged_become_stale(world: World) -> None:
    _landed(world)
    ask(world, "b", "2024-04-02", "2024-04-04")
    claimed = take(world, B)
    acknowledge(world, claimed, "2024-04-03")
    _again(world)
    acknowledge(world, claimed, "2024-04-04")
    assert stale(world, "b") == ["2024-04-03", "2024-04-04"]


def test_a_job_that_has_not_begun_reads_the_new_contents(world: World) -> None:
    _landed(world)
    ask(world, "c", "2024-04-02", "2024-04-04")
    assert ready(world) == {B}
    assert _again(world) == {}
    work_off(world)
    assert there(world, "c") == days("2024-04-02", "2024-04-04")
    assert _stale(world) == {"b": [], "c": []}


def test_external_work_that_lost_its_worker_has_begun(world: World) -> None:
    _landed(world)
    ask(world, "b", "2024-04-02", "2024-04-04")
    step = world.known(named(world, B))
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET handle = '{}' WHERE id = %(id)s", id=step.id))
    assert _again(world) == {"b": 2}


def test_a_job_that_reads_a_stale_partition_ends_stale_although_it_has_not_begun(world: World) -> None:
    _landed(world)
    ask(world, "c", "2024-04-02", "2024-04-04")
    end(world, B)
    assert ready(world) == {"c/2024-04-02..2024-04-03", "c/2024-04-04"}
    assert _again(world) == {"b": 2, "c": 2}
    work_off(world)
    assert stale(world, "c") == ["2024-04-03", "2024-04-04"]


def test_a_submission_that_joins_a_job_which_will_be_stale_ends_stale(world: World) -> None:
    _landed(world, lineage("b*3: raw-1, c: b, d: c"))
    ask(world, "b", "2024-04-02", "2024-04-04")
    claimed = take(world, B)
    _again(world)
    ask(world, "d", "2024-04-02", "2024-04-04")
    assert needs(world)["c/2024-04-03"] == {B}
    world.record(claimed)
    work_off(world)
    assert stale(world, "c") == stale(world, "d") == ["2024-04-03", "2024-04-04"]
    assert {each.app for each in _restate(world)} == {"b", "c", "d"}
    work_off(world)
    assert stale(world, "b") == stale(world, "c") == stale(world, "d") == []


def test_a_table_of_an_app_lands_again_without_its_app(world: World) -> None:
    _made(world)
    _again(world)
    assert world.land("b", "2024-04-03..2024-04-04", again=True) == 0
    assert _stale(world) == {"b": [], "c": ["2024-04-03", "2024-04-04"]}
    ask(world, "c", "2024-04-03", "2024-04-04")
    assert ready(world) == {"c/2024-04-03..2024-04-04"}


def test_rerun_downstream_makes_stale_partitions_again_too(world: World) -> None:
    _made(world)
    _again(world)
    ask(world, "b", "2024-04-03", "2024-04-03", rerun="downstream")
    work_off(world)
    assert _stale(world) == {"b": ["2024-04-04"], "c": ["2024-04-04"]}


class TestRestate:
    def test_each_app_has_a_submission_for_its_stale_partitions(self, world: World) -> None:
        _made(world)
        _again(world)
        (b, c) = _restate(world)
        assert (b.app, b.keys) == ("b", ("2024-04-03..2024-04-04",))
        assert (c.app, c.keys) == ("c", ("2024-04-03..2024-04-04",))
        work_off(world)
        assert _stale(world) == {"b": [], "c": []}
        assert _restate(world) == []

    def test_a_table_and_its_partitions_limit_the_submissions(self, world: World) -> None:
        _made(world)
        world.land("raw", "2024-04-02", "2024-04-06", again=True)
        assert [each.keys for each in _restate(world, "b")][1:] == [
            ("2024-04-02..2024-04-03", "2024-04-06..2024-04-07")
        ]
        work_off(world)
        world.land("raw", "2024-04-02", "2024-04-06", again=True)
        found = _restate(world, "raw", ["2024-04-06"])
        assert [(each.app, each.keys) for each in found] == [
            ("b", ("2024-04-06..2024-04-07",)),
            ("c", ("2024-04-06..2024-04-07",)),
        ]

    def test_what_was_running_is_made_again_by_the_next_restatement(self, world: World) -> None:
        _landed(world)
        ask(world, "b", "2024-04-02", "2024-04-04")
        claimed = take(world, B)
        _again(world)
        assert _restate(world) == []
        world.record(claimed)
        (b,) = _restate(world)
        assert states(world)["b/2024-04-03..2024-04-04"] is State.READY
        assert b.keys == ("2024-04-03..2024-04-04",)

    def test_partitions_before_the_first_are_left(self, world: World) -> None:
        _made(world)
        _again(world)
        world.define({**CHAIN, "b": CHAIN["b"] | {"partition": {"first": "2024-04-04"}}})
        assert [(each.app, each.keys) for each in _restate(world, "b")] == [
            ("b", ("2024-04-04",)),
            ("c", ("2024-04-04",)),
        ]
