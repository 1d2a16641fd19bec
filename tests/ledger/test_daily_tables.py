"""Tables that are made by jobs with keys: all jobs of a day make its partition."""

from typing import Any

import pytest

from sluice.actors.planner import handlers
from sluice.actors.planner.daily_tables import record_days
from sluice.actors.planner.landed_partitions import stale_partitions
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.keyspaces.partitions import acknowledge
from tests.ledger.lineages import ask, days, needs, ready, stale, states, take, there, times_made, work_off
from tests.world import World

_EXISTING = """
SELECT partition FROM partition WHERE table_name = 'sales' AND version = 'day' AND done_at IS NOT NULL ORDER BY 1
"""
_KEYED = {"bash_cmd": "true", "identifiers": {"date": "date"}, "autofill_values": {"shop": ["g", "o"]}}
#: ``clean`` makes the days of ``sales``, of which ``week`` reads three.
SHOPS: dict[str, Any] = {
    "fetch": {**_KEYED, "job_id": "{date}_{shop}"},
    "clean": {
        **_KEYED,
        "job_id": "{date}_{shop}",
        "output_table": "sales",
        "depends_on": {"app_name": ["fetch"]},
    },
    "roll": {
        "bash_cmd": "true",
        "partition": "day",
        "step_size": 3,
        "table_dependencies": [{"table": "sales", "start_offset": 1}],
    },
    "join": {"bash_cmd": "true", "partition": "day", "table_dependencies": [{"table": "roll"}]},
}
STEP = "roll/2024-04-02..2024-04-04"


def _existing(world: World) -> list[str]:
    return [*map(Calendar("day").write, world.ledger.transact(lambda tx: tx.column(_EXISTING)))]


def _clean(*keys: str) -> set[str]:
    return {f"clean/{key}" for key in keys}


def _made(world: World) -> None:
    """Make three days of ``roll`` and ``join``, and four of ``sales``."""
    world.define(SHOPS)
    ask(world, "join", "2024-04-02", "2024-04-04")
    work_off(world)
    world.tick(after_s=60)


def _again(world: World, *keys: str) -> None:
    """Run these jobs of ``clean`` again."""
    world.submit("clean", None, keys=[*keys], rerun="job")
    work_off(world, only="clean")


def _restate(world: World) -> list[str]:
    found = world.ledger.transact(lambda tx: stale_partitions(tx, world.catalogue))
    for each in found:
        world.submit(each.app, None, keys=list(each.keys or ()))
    return [each.app for each in found]


def test_a_step_waits_for_all_jobs_of_the_days_that_it_reads_and_requests_them(world: World) -> None:
    world.define(SHOPS)
    id_ = ask(world, "roll", "2024-04-02", "2024-04-04")
    keys = [f"2024040{day}_{shop}" for day in (1, 2, 3, 4) for shop in "go"]
    assert needs(world)[STEP] == _clean(*keys)
    assert ready(world) == {f"fetch/{key}" for key in keys}
    work_off(world, only="fetch")
    work_off(world, only="clean/2024040")
    assert ready(world) == {STEP}
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert there(world, "roll") == days("2024-04-02", "2024-04-04")


def test_a_day_exists_when_all_of_its_jobs_have_succeeded(world: World) -> None:
    world.define(SHOPS)
    world.submit("clean", None, keys=["20240401_g", "20240402_g", "20240402_o"])
    work_off(world)
    assert _existing(world) == ["2024-04-02"]
    world.submit("clean", "20240401_o")
    work_off(world)
    assert _existing(world) == days("2024-04-01", "2024-04-02")


def test_existing_days_are_not_made_again(world: World) -> None:
    _made(world)
    ask(world, "roll", "2024-04-03", "2024-04-05")
    assert needs(world)["roll/2024-04-05"] == _clean("20240405_g", "20240405_o")
    assert ready(world) == {"fetch/20240405_g", "fetch/20240405_o"}


def test_a_day_that_others_have_landed_needs_no_jobs(world: World) -> None:
    world.define(SHOPS)
    world.land("sales", "2024-04-01..2024-04-04")
    ask(world, "roll", "2024-04-02", "2024-04-04")
    assert ready(world) == {STEP}


def test_an_earlier_success_of_the_jobs_is_used(world: World) -> None:
    world.define(SHOPS)
    world.submit("clean", None, start="2024-04-01", end="2024-04-04")
    work_off(world)
    ask(world, "roll", "2024-04-02", "2024-04-04")
    assert ready(world) == {STEP}
    assert STEP not in needs(world)


def test_a_job_that_fails_ends_the_steps_and_a_retry_runs_both_again(world: World) -> None:
    world.define(SHOPS)
    id_ = ask(world, "roll", "2024-04-02", "2024-04-04")
    work_off(world, failing={"clean/20240402_g"})
    assert states(world)[STEP] is State.UPSTREAM_FAILED
    assert world.submission(id_) is SubmissionState.FAILED
    world.retry(id_)
    assert ready(world) == {"clean/20240402_g"}
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert times_made(world, "roll") == dict.fromkeys(days("2024-04-02", "2024-04-04"), 1)


def test_a_step_that_is_planned_after_the_failure_of_a_job_of_its_day_ends_at_once(world: World) -> None:
    world.define(SHOPS)
    world.submit("clean", "20240402_g")
    work_off(world, failing={"clean/20240402_g"})
    id_ = ask(world, "join", "2024-04-02")
    work_off(world)
    assert states(world)["roll/2024-04-02"] is states(world)["join/2024-04-02"] is State.UPSTREAM_FAILED
    assert world.submission(id_) is SubmissionState.FAILED
    world.retry(id_)
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_a_retry_of_the_failed_job_alone_leaves_the_step_to_its_submission(world: World) -> None:
    world.define(SHOPS)
    id_ = ask(world, "roll", "2024-04-02", "2024-04-04")
    work_off(world, failing={"clean/20240402_g"})
    world.submit("clean", "20240402_g", rerun="job")
    work_off(world)
    assert states(world)[STEP] is State.UPSTREAM_FAILED
    world.retry(id_)
    assert ready(world) == {STEP}


def test_a_job_that_runs_again_makes_stale_what_was_made_from_its_day(world: World) -> None:
    _made(world)
    _again(world, "20240403_g")
    assert stale(world, "roll") == stale(world, "join") == ["2024-04-03", "2024-04-04"]
    assert not ready(world)
    assert _restate(world) == ["roll", "join"]
    work_off(world)
    assert not stale(world, "roll") + stale(world, "join")
    assert times_made(world, "roll") == {"2024-04-02": 1, "2024-04-03": 2, "2024-04-04": 2}
    assert times_made(world, "join") == {"2024-04-02": 1, "2024-04-03": 2, "2024-04-04": 2}


def test_a_rerun_downstream_runs_no_step_with_partitions_that_exist(world: World) -> None:
    _made(world)
    world.submit("fetch", "20240402_o", rerun="downstream")
    work_off(world)
    assert times_made(world, "roll") == dict.fromkeys(days("2024-04-02", "2024-04-04"), 1)
    assert stale(world, "roll") == ["2024-04-02", "2024-04-03"]


def test_nothing_is_stale_after_the_first_time(world: World) -> None:
    _made(world)
    assert not stale(world, "roll") + stale(world, "join")
    ended = world.ledger.transact(lambda tx: tx.column("SELECT id FROM job WHERE app = 'clean'"))
    assert _report(world, ended) == []
    assert not stale(world, "roll") + stale(world, "join")


def _report(world: World, ended: list[int]) -> list[Any]:
    """Report the ends of these jobs once more."""
    return world.ledger.transact(lambda tx: record_days(tx, world.catalogue, ended))


def _ready_to_read(world: World) -> None:
    """Make the days that a step reads. The step itself is left."""
    world.define(SHOPS)
    ask(world, "roll", "2024-04-02", "2024-04-04")
    work_off(world, only="fetch")
    work_off(world, only="clean")


def _change_while_it_runs(world: World) -> None:
    """Run a job of a day again while the step that reads the day runs."""
    claimed = take(world, STEP)
    world.tick(after_s=1)
    _again(world, "20240403_g")
    world.record(claimed)
    world.deliver()


def test_a_step_that_runs_while_a_day_changes_is_stale_when_it_succeeds(world: World) -> None:
    _ready_to_read(world)
    _change_while_it_runs(world)
    assert stale(world, "roll") == ["2024-04-03", "2024-04-04"]


def test_a_partition_that_an_earlier_claim_acknowledged_is_stale_although_its_job_began_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ready_to_read(world)
    claimed = take(world, STEP)
    made = Calendar("day").read("2024-04-03")
    assert world.ledger.transact(lambda tx: acknowledge(tx, claimed.right, made))
    world.record(claimed, Ending.HANDED_BACK)
    world.tick(after_s=1)
    with monkeypatch.context() as unreported:
        unreported.setattr(handlers, "record_days", lambda *_: [])
        _again(world, "20240403_g")
    # The success is reported only after the step has begun again.
    world.tick(after_s=1)
    claimed = take(world, STEP)
    _report(world, [world.known("clean/20240403_g").id])
    world.record(claimed)
    world.deliver()
    assert stale(world, "roll") == ["2024-04-03"]


def test_a_step_that_has_not_begun_when_a_day_changes_is_not_stale(world: World) -> None:
    _ready_to_read(world)
    world.tick(after_s=1)
    _again(world, "20240403_g")
    assert ready(world) == {STEP}
    work_off(world)
    assert not stale(world, "roll")


def test_a_success_that_was_not_reported_before_the_job_ran_again_hides_no_change(world: World) -> None:
    """The first success of the day's last job is never reported, because the job runs again before that."""
    _ready_to_read(world)
    world.ledger.transact(lambda tx: tx.write("DELETE FROM partition WHERE table_name = 'sales'"))
    _change_while_it_runs(world)
    assert stale(world, "roll") == ["2024-04-03", "2024-04-04"]


def test_a_job_that_is_added_to_a_day_changes_it(world: World) -> None:
    _made(world)
    world.define({**SHOPS, "clean": {**SHOPS["clean"], "autofill_values": {"shop": ["g", "o", "x"]}}})
    world.submit("clean", "20240403_x")
    assert not stale(world, "roll")
    work_off(world)
    assert stale(world, "roll") == ["2024-04-03", "2024-04-04"]


def test_jobs_that_the_filter_rejects_make_no_part_of_a_day(world: World) -> None:
    filtered = {**SHOPS["clean"], "valid_if_or": {"shop": ["g"]}}
    world.define({**SHOPS, "clean": filtered})
    ask(world, "roll", "2024-04-02")
    assert needs(world)["roll/2024-04-02"] == _clean("20240401_g", "20240402_g")
    work_off(world)
    assert _existing(world) == days("2024-04-01", "2024-04-02")


def test_an_interrupted_success_is_reported_later(world: World) -> None:
    world.define(SHOPS)
    world.submit("clean", None, keys=["20240402_g", "20240402_o"])
    work_off(world, only="fetch")
    work_off(world, only="clean/20240402_g")
    claimed = world.take("clean/20240402_o")
    world.record(claimed, Ending.DONE)
    world.lose_messages()
    world.tick(after_s=600)
    world.deliver()
    assert _existing(world) == ["2024-04-02"]


@pytest.mark.parametrize("size", [1, 7])
def test_a_weekly_table_reads_the_days_of_its_week(world: World, size: int) -> None:
    weekly = {
        "bash_cmd": "true",
        "partition": "week",
        "step_size": size,
        "table_dependencies": [{"table": "sales"}],
    }
    world.define({**SHOPS, "weekly": weekly})
    ask(world, "weekly", "2024-W14")
    keys = [f"{day.replace('-', '')}_{shop}" for day in days("2024-04-01", "2024-04-07") for shop in "go"]
    assert needs(world)["weekly/2024-W14"] == _clean(*keys)
