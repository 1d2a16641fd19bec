"""Limits: a submission that is too large is refused with the reason, and none of its jobs is inserted. Most limits are
lowered here."""

import pytest

from sluice.jobs.model.request_limits import POLICY_BYTES_MAX
from sluice.jobs.model.submission import KEYS_MAX, Submission, SubmissionState
from sluice.planner.bubble_up import walk
from sluice.planner.keyspaces.chunks import chunk_plan
from sluice.planner.keyspaces.partitions import partition_plan, table_demand
from tests.world import World


def _refused(world: World, id: str, why: str) -> None:
    assert world.submission(id) is SubmissionState.REFUSED
    assert why in world.reason(id)
    assert world.states() == {}


def test_the_limit_counts_the_jobs_of_all_upstream_levels(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apps("a -> b, b -> c")
    monkeypatch.setattr(walk, "JOBS_MAX", 2)
    _refused(world, world.submit("c"), "The submission results in more than 2 jobs")
    monkeypatch.setattr(walk, "JOBS_MAX", 3)
    assert world.submission(world.submit("c", id="fits")) is SubmissionState.ACTIVE


def test_the_limit_counts_chunks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.define({"a": {"chunk_size": 1, "bash_cmd": "true"}})
    monkeypatch.setattr(chunk_plan, "JOBS_MAX", 3)
    _refused(
        world,
        world.submit("a", None, work_ids="1-5"),
        "The submission results in 5 jobs; one submission may have 3",
    )


def test_the_limit_counts_steps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.define(
        {"a": {"bash_cmd": "true", "output_table": "t", "partition": {"unit": "day"}, "step_size": 1}}
    )
    monkeypatch.setattr(partition_plan, "JOBS_MAX", 3)
    _refused(
        world,
        world.submit("a", None, start="2024-04-01", end="2024-04-09"),
        "The submission results in more than 3 jobs",
    )


def test_partitions_are_counted_before_any_is_made(world: World) -> None:
    large = {"bash_cmd": "true", "output_table": "t", "partition": {"unit": "hour"}, "step_size": 2_000_000}
    world.define({"a": large})
    hours = world.submit("a", None, start="1001-01-01-00", end="9998-01-01-00")
    _refused(world, hours, f"The submission results in more than {table_demand.PARTITIONS_MAX:,} partitions")


def test_the_limit_does_not_count_existing_partitions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    daily = {"bash_cmd": "true", "output_table": "t", "partition": {"unit": "day"}, "step_size": 5}
    world.define({"a": daily})
    world.land("t", "2024-04-01..2024-04-09")
    monkeypatch.setattr(table_demand, "PARTITIONS_MAX", 3)
    submission = world.submit("a", None, start="2024-04-01", end="2024-04-12")
    assert world.submission(submission) is SubmissionState.ACTIVE
    too_many = world.submit("a", None, start="2024-04-01", end="2024-04-30")
    assert world.submission(too_many) is SubmissionState.REFUSED


def test_the_limit_counts_missing_partitions_of_input_tables(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [{"table": "events", "start_offset": 20}]
    world.define(
        {
            "a": {
                "bash_cmd": "true",
                "output_table": "t",
                "partition": {"unit": "day"},
                "table_dependencies": reads,
            }
        }
    )
    monkeypatch.setattr(table_demand, "PARTITIONS_MAX", 5)
    _refused(world, world.submit("a", None, start="2024-04-01", end="2024-04-02"), "more than 5 partitions")


def test_a_policy_that_is_too_large_is_refused(world: World) -> None:
    world.apps("a", submitters_may_set=["env"])
    large = world.submit("a", policy={"env": {"A": "x" * POLICY_BYTES_MAX}})
    _refused(world, large, "Its policy has 8208 bytes; at most 8192 are accepted.")


def test_a_submission_with_too_many_keys_cannot_be_constructed() -> None:
    with pytest.raises(ValueError, match=f"{KEYS_MAX + 1} keys are more than one submission may name"):
        Submission(app="a", keys=("1",) * (KEYS_MAX + 1))
