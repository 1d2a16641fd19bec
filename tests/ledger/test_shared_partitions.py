"""Submissions of partitions that exist or are already being made: the union is made, and the intersection once."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.lineages import (
    ask,
    days,
    end,
    lineage,
    named,
    needs,
    owners,
    ready,
    states,
    take,
    there,
    times_made,
    work_off,
)
from tests.world import World

WEEKLY = lineage("g*7, j: g")
#: Definition with another version of ``g``.
OTHERWISE = WEEKLY | {"g": WEEKLY["g"] | {"bash_cmd": "true again"}}


def test_existing_partitions_separate_the_steps(world: World) -> None:
    world.define(WEEKLY)
    world.land("g", "2024-04-05")
    ask(world, "g", "2024-04-01", "2024-04-15")
    assert sorted(states(world)) == [
        "g/2024-04-01..2024-04-04",
        "g/2024-04-06..2024-04-12",
        "g/2024-04-13..2024-04-15",
    ]


def test_no_job_waits_for_existing_partitions(world: World) -> None:
    world.define(WEEKLY)
    world.land("g", "2024-04-08..2024-04-10")
    ask(world, "j", "2024-04-01", "2024-04-30")
    assert sorted(states(world, "g")) == [
        "g/2024-04-01..2024-04-07",
        "g/2024-04-11..2024-04-17",
        "g/2024-04-18..2024-04-24",
        "g/2024-04-25..2024-04-30",
    ]
    assert ready(world) - states(world, "g").keys() == {"j/2024-04-08", "j/2024-04-09", "j/2024-04-10"}


def test_a_range_of_existing_partitions_creates_no_job(world: World) -> None:
    world.define(WEEKLY)
    world.land("j", "2024-04-01..2024-04-30")
    id_ = ask(world, "j", "2024-04-01", "2024-04-30")
    assert states(world) == {}
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_parents_of_existing_partitions_are_not_planned(world: World) -> None:
    world.define(WEEKLY)
    world.land("j", "2024-04-01")
    ask(world, "j", "2024-04-01", "2024-04-02")
    assert states(world).keys() == {"j/2024-04-02", "g/2024-04-02"}


def test_of_two_overlapping_submissions_the_later_one_makes_the_rest(world: World) -> None:
    world.define(WEEKLY)
    first = ask(world, "g", "2024-04-01", "2024-04-10")
    take(world, "g/2024-04-01..2024-04-07")
    take(world, "g/2024-04-08..2024-04-10")
    second = ask(world, "j", "2024-04-05", "2024-04-20")
    assert states(world, "g").keys() == {
        "g/2024-04-01..2024-04-07",
        "g/2024-04-08..2024-04-10",
        "g/2024-04-11..2024-04-17",
        "g/2024-04-18..2024-04-20",
    }
    waits = needs(world)
    assert waits["j/2024-04-05"] == {"g/2024-04-01..2024-04-07"}
    assert waits["j/2024-04-10"] == {"g/2024-04-08..2024-04-10"}
    assert waits["j/2024-04-11"] == {"g/2024-04-11..2024-04-17"}
    world.tick(after_s=16)
    world.worker = world.hire()
    work_off(world)
    assert times_made(world, "g") == dict.fromkeys(days("2024-04-01", "2024-04-20"), 1)
    assert world.submission(first) is world.submission(second) is SubmissionState.SUCCEEDED


def test_a_range_around_another_makes_only_the_days_on_both_sides(world: World) -> None:
    world.define(WEEKLY)
    ask(world, "g", "2024-04-01", "2024-04-10")
    before = states(world).keys()
    ask(world, "g", "2024-03-25", "2024-04-20")
    assert states(world).keys() - before == {
        "g/2024-03-25..2024-03-31",
        "g/2024-04-11..2024-04-17",
        "g/2024-04-18..2024-04-20",
    }


def test_a_range_within_another_waits_only_for_the_step_that_it_needs(world: World) -> None:
    world.define(WEEKLY)
    first = ask(world, "g", "2024-04-01", "2024-04-10")
    before = states(world)
    second = ask(world, "g", "2024-04-03", "2024-04-06")
    assert states(world) == before
    end(world, "g/2024-04-01..2024-04-07")
    assert world.submission(second) is SubmissionState.SUCCEEDED
    assert world.submission(first) is SubmissionState.ACTIVE


def test_a_range_that_is_already_being_made_is_not_made_again(world: World) -> None:
    world.define(WEEKLY)
    ids = [ask(world, "j", "2024-04-01", "2024-04-10") for _ in range(3)]
    assert len(states(world, "g")) == 2
    work_off(world)
    assert {world.submission(id_) for id_ in ids} == {SubmissionState.SUCCEEDED}
    assert set(times_made(world, "g").values()) == set(times_made(world, "j").values()) == {1}


def test_a_submission_fails_with_the_step_of_another_that_it_waits_for(world: World) -> None:
    world.define(WEEKLY)
    first = ask(world, "g", "2024-04-01", "2024-04-07")
    second = ask(world, "j", "2024-04-03", "2024-04-04")
    end(world, "g/2024-04-01..2024-04-07", Ending.ERROR)
    assert set(states(world, "j").values()) == {State.UPSTREAM_FAILED}
    assert world.submission(first) is world.submission(second) is SubmissionState.FAILED


def test_another_version_of_an_app_shares_no_partitions(world: World) -> None:
    world.define(WEEKLY)
    ask(world, "g", "2024-04-01", "2024-04-07")
    (before,) = world.states()
    world.define(OTHERWISE)
    ask(world, "g", "2024-04-05", "2024-04-06")
    assert world.states().keys() == {before, named(world, "g/2024-04-05..2024-04-06")}
    work_off(world)
    assert there(world, "g") == ["2024-04-05", "2024-04-06"]
    world.define(WEEKLY)
    assert there(world, "g") == days("2024-04-01", "2024-04-07")


def test_an_upstream_change_makes_another_version_and_a_revert_restores_the_old_one(world: World) -> None:
    world.define(WEEKLY)
    ask(world, "j", "2024-04-01")
    work_off(world)
    world.define(OTHERWISE)
    ask(world, "j", "2024-04-01")
    assert len(world.ready()) == 1
    work_off(world)
    assert len(world.states()) == 4
    world.define(WEEKLY)
    again = ask(world, "j", "2024-04-01")
    assert len(world.states()) == 4
    assert world.submission(again) is SubmissionState.SUCCEEDED


def test_retry_options_and_the_step_size_make_no_other_version(world: World) -> None:
    world.define(WEEKLY)
    ask(world, "g", "2024-04-01", "2024-04-07")
    work_off(world)
    world.define(WEEKLY | {"g": WEEKLY["g"] | {"max_fails": 5, "step_size": 3}})
    again = ask(world, "g", "2024-04-01", "2024-04-08")
    assert states(world).keys() == {"g/2024-04-01..2024-04-07", "g/2024-04-08"}
    assert world.field(named(world, "g/2024-04-08"), "max_fails") == 5
    assert world.submission(again) is SubmissionState.ACTIVE


def test_after_a_failure_only_missing_partitions_are_made(world: World) -> None:
    world.define(lineage("s, g*2: s, j: g"))
    failed = ask(world, "j", "2024-04-01", "2024-04-04")
    work_off(world, failing=["s/2024-04-03"])
    assert world.submission(failed) is SubmissionState.FAILED
    again = ask(world, "j", "2024-04-01", "2024-04-04")
    assert ready(world) == {"s/2024-04-03"}
    assert states(world)["g/2024-04-01..2024-04-02"] is State.SUCCEEDED
    work_off(world)
    assert world.submission(again) is SubmissionState.SUCCEEDED
    assert set(times_made(world, "s").values()) == set(times_made(world, "j").values()) == {1}


def test_a_failed_step_that_is_requested_again_starts_again_and_keeps_its_history(world: World) -> None:
    world.define(lineage("s, g*2: s", max_fails=1))
    ask(world, "g", "2024-04-01", "2024-04-02")
    work_off(world, failing=["g/2024-04-01..2024-04-02"])
    step = named(world, "g/2024-04-01..2024-04-02")
    assert world.field(step, "fails") == 2
    ask(world, "g", "2024-04-01", "2024-04-02", policy={"priority": 4})
    assert world.state(step) is State.READY
    assert (world.field(step, "fails"), world.field(step, "priority")) == (0, 4)
    assert world.history(step).count(State.FAILED) == 1
    assert needs(world)["g/2024-04-01..2024-04-02"] == set()
    work_off(world)
    assert there(world, "g") == ["2024-04-01", "2024-04-02"]


def test_a_failed_step_with_missing_inputs_waits_for_them(world: World) -> None:
    world.define(lineage("s, g*2: s"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    work_off(world, failing=["s/2024-04-02"])
    ask(world, "g", "2024-04-01", "2024-04-02")
    assert needs(world)["g/2024-04-01..2024-04-02"] == {"s/2024-04-02"}
    assert ready(world) == {"s/2024-04-02"}


def test_another_step_takes_over_the_partitions_of_a_failed_step(world: World) -> None:
    world.define(WEEKLY)
    ask(world, "g", "2024-04-01", "2024-04-07")
    end(world, "g/2024-04-01..2024-04-07", Ending.ERROR)
    ask(world, "g", "2024-04-03", "2024-04-12")
    assert owners(world, "g") == {
        **dict.fromkeys(days("2024-04-01", "2024-04-02"), "g/2024-04-01..2024-04-07"),
        **dict.fromkeys(days("2024-04-03", "2024-04-09"), "g/2024-04-03..2024-04-09"),
        **dict.fromkeys(days("2024-04-10", "2024-04-12"), "g/2024-04-10..2024-04-12"),
    }
    work_off(world)
    ask(world, "g", "2024-04-01", "2024-04-12")
    assert ready(world) == {"g/2024-04-01..2024-04-02"}


def test_a_cancelled_step_that_is_requested_again_starts_again(world: World) -> None:
    world.define(lineage("s, g*2: s"))
    world.cancel(ask(world, "g", "2024-04-01", "2024-04-02"))
    assert set(states(world).values()) == {State.CANCELLED}
    again = ask(world, "g", "2024-04-01", "2024-04-02")
    work_off(world)
    assert world.submission(again) is SubmissionState.SUCCEEDED


def test_partitions_that_two_readers_of_a_plan_need_are_in_one_step(world: World) -> None:
    world.define(lineage("s*4, a: s, b: s-2, c: a b"))
    ask(world, "c", "2024-04-03", "2024-04-04")
    assert states(world, "s").keys() == {"s/2024-04-01..2024-04-04"}
    assert needs(world)["b/2024-04-04"] == needs(world)["a/2024-04-03"] == {"s/2024-04-01..2024-04-04"}


@pytest.mark.parametrize("asked", [{"keys": []}, {"keys": [], "rerun": "downstream"}], ids=["", "again"])
def test_a_submission_of_no_keys_succeeds_at_once(world: World, asked: dict[str, object]) -> None:
    world.define(WEEKLY)
    assert world.submission(world.submit("g", None, **asked)) is SubmissionState.SUCCEEDED


def test_a_submission_with_an_invalid_policy_is_refused_and_creates_no_job(world: World) -> None:
    world.define(WEEKLY)
    id_ = ask(world, "g", "2024-04-01", policy={"max_fails": "many"})
    assert world.submission(id_) is SubmissionState.REFUSED
    assert "max_fails" in world.reason(id_)
    assert states(world) == {}
    assert owners(world, "g") == {}


def test_a_step_that_was_cancelled_while_paused_starts_again_for_the_next_submission(world: World) -> None:
    world.define(lineage("g*2"))
    id_ = ask(world, "g", "2024-04-01", "2024-04-02")
    world.pause(id_)
    assert states(world) == {"g/2024-04-01..2024-04-02": State.WAITING}
    world.cancel(id_)
    ask(world, "g", "2024-04-01", "2024-04-02")
    assert ready(world) == {"g/2024-04-01..2024-04-02"}


def test_a_paused_step_continues_for_a_submission_that_joins_it(world: World) -> None:
    world.define(lineage("s, g*2: s, j: g"))
    id_ = ask(world, "g", "2024-04-01", "2024-04-02")
    world.pause(id_)
    assert not ready(world)
    second = ask(world, "j", "2024-04-01")
    assert ready(world) == {"s/2024-04-01", "s/2024-04-02"}
    work_off(world)
    assert world.submission(second) is SubmissionState.SUCCEEDED


def test_each_step_that_reads_from_the_beginning_waits_for_all_earlier_days(world: World) -> None:
    whole = {"table_dependencies": [{"table": "s", "start_offset": None}], "step_size": 2}
    apps = lineage("s, g: s")
    world.define(apps | {"g": apps["g"] | whole})
    ask(world, "g", "2024-04-01", "2024-04-04")
    assert needs(world)["g/2024-04-01..2024-04-02"] == {"s/2024-04-01", "s/2024-04-02"}
    assert needs(world)["g/2024-04-03..2024-04-04"] == {
        f"s/{day}" for day in days("2024-04-01", "2024-04-04")
    }


def test_a_cumulative_dependency_joins_a_later_partition_that_is_being_made(world: World) -> None:
    apps = lineage("s, r: s, j: r s")
    r, j = apps["r"], apps["j"]
    r["table_dependencies"] = [{"table": "s", "cumulative": True}]
    j["table_dependencies"] = [{"table": "r", "start_offset": 3, "end_offset": 3}, {"table": "s"}]
    world.define(apps)
    first = ask(world, "s", "2024-04-03")
    second = ask(world, "j", "2024-04-05")
    assert needs(world)["r/2024-04-02"] == {"s/2024-04-03"}
    world.cancel(first)
    assert ready(world) == {"s/2024-04-03", "s/2024-04-05"}
    work_off(world)
    assert world.submission(second) is SubmissionState.SUCCEEDED
