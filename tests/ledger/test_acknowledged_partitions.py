"""Partitions that a running step acknowledges one by one: they stay available, however the step ends."""

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger.lineages import (
    acknowledge,
    ask,
    days,
    lineage,
    named,
    needs,
    ready,
    states,
    take,
    there,
    work_off,
)
from tests.world import LEASE_S, World

STEP = "g/2024-04-01..2024-04-04"
DAYS = days("2024-04-01", "2024-04-04")


def _running(world: World, **words: object) -> ClaimedJob:
    world.define(lineage("g*4, j: g", **words))
    ask(world, "g", "2024-04-01", "2024-04-04")
    return take(world, STEP)


def _left(world: World, claimed: ClaimedJob) -> list[str]:
    calendar = world.catalogue["g"].partitioning.calendar
    return [*map(calendar.write, claimed.partitions or ())]


def test_the_first_claim_of_a_step_has_to_make_all_its_partitions(world: World) -> None:
    assert _left(world, _running(world)) == DAYS


def test_an_acknowledged_partition_is_available_before_the_step_ends(world: World) -> None:
    claimed = _running(world)
    assert acknowledge(world, claimed, "2024-04-02") == [True]
    assert there(world, "g") == ["2024-04-02"]
    ask(world, "j", "2024-04-01", "2024-04-02")
    assert ready(world) == {"j/2024-04-02"}
    assert needs(world)["j/2024-04-01"] == {STEP}


def test_acknowledging_a_partition_twice_changes_nothing(world: World) -> None:
    claimed = _running(world)
    acknowledge(world, claimed, "2024-04-02")
    world.tick(after_s=1)
    assert acknowledge(world, claimed, "2024-04-02") == [True]
    assert there(world, "g") == ["2024-04-02"]


def test_a_step_cannot_acknowledge_partitions_that_are_not_its_own(world: World) -> None:
    claimed = _running(world)
    ask(world, "g", "2024-04-05")
    assert acknowledge(world, claimed, "2024-04-05", "2024-04-06") == [False, False]
    assert there(world, "g") == []


def test_the_next_round_gets_the_remaining_partitions(world: World) -> None:
    claimed = _running(world, max_fails=1)
    acknowledge(world, claimed, "2024-04-01", "2024-04-02")
    world.record(claimed, Ending.ERROR, error="it broke")
    again = take(world, STEP)
    assert _left(world, again) == ["2024-04-03", "2024-04-04"]
    assert acknowledge(world, claimed, "2024-04-03") == [False]
    world.record(again)
    assert there(world, "g") == DAYS


def test_after_a_lost_lease_the_next_worker_gets_the_remaining_partitions(world: World) -> None:
    """The late worker can acknowledge no more partitions."""
    claimed = _running(world)
    acknowledge(world, claimed, "2024-04-01")
    world.tick(after_s=LEASE_S + 1)
    assert acknowledge(world, claimed, "2024-04-02") == [False]
    world.worker = world.hire()
    again = take(world, STEP)
    assert acknowledge(world, claimed, "2024-04-02") == [False]
    assert _left(world, again) == DAYS[1:]
    assert acknowledge(world, again, "2024-04-02") == [True]
    assert there(world, "g") == DAYS[:2]


def test_a_step_that_was_handed_back_goes_on_with_the_remaining_partitions(world: World) -> None:
    claimed = _running(world)
    acknowledge(world, claimed, *DAYS[:3])
    world.record(claimed, Ending.HANDED_BACK)
    assert _left(world, take(world, STEP)) == DAYS[3:]


def test_after_a_final_failure_the_next_plan_makes_the_remaining_partitions(world: World) -> None:
    claimed = _running(world)
    acknowledge(world, claimed, "2024-04-02")
    world.record(claimed, Ending.ERROR, error="it broke")
    assert states(world)[STEP] is State.FAILED
    id_ = ask(world, "g", "2024-04-01", "2024-04-04")
    assert ready(world) == {"g/2024-04-01", "g/2024-04-03..2024-04-04"}
    work_off(world)
    assert there(world, "g") == DAYS
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_acknowledged_partitions_stay_after_a_cancellation(world: World) -> None:
    world.define(lineage("g*4"))
    id_ = ask(world, "g", "2024-04-01", "2024-04-04")
    claimed = take(world, STEP)
    acknowledge(world, claimed, "2024-04-01")
    world.cancel(id_)
    assert acknowledge(world, claimed, "2024-04-02") == [False]
    ask(world, "g", "2024-04-01", "2024-04-04")
    assert ready(world) == {"g/2024-04-02..2024-04-04"}


def test_a_step_without_remaining_partitions_is_claimed_and_succeeds(world: World) -> None:
    claimed = _running(world, max_fails=1)
    acknowledge(world, claimed, *DAYS)
    world.record(claimed, Ending.ERROR, error="it broke at the very end")
    again = take(world, STEP)
    assert again.partitions == []
    world.record(again)
    assert states(world)[STEP] is State.SUCCEEDED


def test_partitions_of_a_failed_step_serve_the_next_plan_for_its_children(world: World) -> None:
    claimed = _running(world)
    waiting = ask(world, "j", "2024-04-01")
    acknowledge(world, claimed, *DAYS)
    world.record(claimed, Ending.ERROR, error="it broke at the very end")
    assert world.submission(waiting) is SubmissionState.FAILED
    ask(world, "j", "2024-04-01")
    assert ready(world) == {"j/2024-04-01"}


def test_partitions_that_land_meanwhile_need_not_be_made(world: World) -> None:
    world.define(lineage("g*4"))
    ask(world, "g", "2024-04-01", "2024-04-04")
    world.land("g", "2024-04-02..2024-04-03")
    claimed = take(world, STEP)
    assert _left(world, claimed) == ["2024-04-01", "2024-04-04"]
    assert acknowledge(world, claimed, "2024-04-02") == [True]
    world.record(claimed)
    assert there(world, "g") == DAYS


def test_a_claim_of_a_job_without_partitions_has_none(world: World) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.claim("a")
    assert claimed is not None
    assert claimed.partitions is None
    world.define(lineage("g"))
    ask(world, "g", "2024-04-01")
    assert world.field(named(world, "g/2024-04-01"), "output_table") == "g"
