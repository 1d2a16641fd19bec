"""Jobs with keys that read tables: a job of a day needs the partitions that its definition names."""

from typing import Any

import pytest

from sluice.actors.executor.assignments import assign
from sluice.actors.planner.landed_partitions import stale_partitions
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.ages import later, prune
from tests.ledger.lineages import (
    ask,
    days,
    needs,
    owners,
    ready,
    stale,
    states,
    take,
    there,
    times_made,
    work_off,
)
from tests.world import LEASE_S, World

_STALE_DAYS = """
SELECT partition FROM partition WHERE table_name = %(table)s AND version = 'day' AND stale_since IS NOT NULL ORDER BY 1
"""
_RUNS = "SELECT app || '/' || key, count(*) FROM round JOIN job ON job.id = round.job GROUP BY 1"
_KEYED: dict[str, Any] = {
    "bash_cmd": "true",
    "job_id": "{date}_{shop}",
    "identifiers": {"date": "date"},
    "autofill_values": {"shop": ["g", "o"]},
}
#: ``price`` has keys and reads two days of ``rates``; ``mail`` needs ``price``; ``weekly`` reads the days of ``price``.
SHOPS: dict[str, Any] = {
    "load": {**_KEYED, "output_table": "sales"},
    "rates": {"bash_cmd": "true", "partition": "day", "table_dependencies": [{"table": "sales"}]},
    "price": {**_KEYED, "table_dependencies": [{"table": "rates", "start_offset": 1}]},
    "mail": {**_KEYED, "depends_on": {"app_name": ["price"]}},
    "roll": {"bash_cmd": "true", "partition": "day", "table_dependencies": [{"table": "price"}]},
}


def stale_days(world: World, table: str) -> list[str]:
    """Return the stale days of a table that is made by jobs with keys."""
    found = world.ledger.transact(lambda tx: tx.column(_STALE_DAYS, table=table))
    return [*map(Calendar("day").write, found)]


def _keys(app: str, *keys: str) -> set[str]:
    return {f"{app}/{key}" for key in keys}


def rounds(world: World, app: str) -> dict[str, int]:
    """Return the number of rounds of each job of the app."""
    rows = world.ledger.transact(lambda tx: tx.rows(_RUNS))
    return {name: number for name, number in rows if name.startswith(f"{app}/")}


def _steps(*texts: str) -> set[str]:
    return {f"rates/{text}" for text in texts}


def _made(world: World) -> None:
    """Make two days of ``roll``, and all that they are made from."""
    world.define(SHOPS)
    ask(world, "roll", "2024-04-02", "2024-04-03", push="wanted")
    work_off(world)
    world.tick(after_s=60)


def test_a_job_waits_for_the_partitions_that_it_reads_and_its_submission_requests_them(world: World) -> None:
    world.define(SHOPS)
    id_ = world.submit("price", "20240402_g")
    assert needs(world)["price/20240402_g"] == _steps("2024-04-01", "2024-04-02")
    assert ready(world) == _keys("load", "20240401_g", "20240401_o", "20240402_g", "20240402_o")
    work_off(world, only="load")
    assert ready(world) == _steps("2024-04-01", "2024-04-02")
    work_off(world, only="rates")
    assert ready(world) == {"price/20240402_g"}
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_tables_and_jobs_with_keys_may_alternate(world: World) -> None:
    world.define(SHOPS)
    id_ = ask(world, "roll", "2024-04-02")
    assert needs(world)["roll/2024-04-02"] == _keys("price", "20240402_g", "20240402_o")
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert there(world, "roll") == ["2024-04-02"]
    assert there(world, "rates") == days("2024-04-01", "2024-04-02")
    assert rounds(world, "price") == {"price/20240402_g": 1, "price/20240402_o": 1}


def test_a_child_of_a_reader_pulls_the_partitions(world: World) -> None:
    world.define(SHOPS)
    id_ = world.submit("mail", "20240402_g")
    assert needs(world)["mail/20240402_g"] == {"price/20240402_g"}
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert there(world, "rates") == days("2024-04-01", "2024-04-02")


def test_existing_partitions_are_not_made_again(world: World) -> None:
    world.define(SHOPS)
    ask(world, "rates", "2024-04-01", "2024-04-02")
    work_off(world)
    world.submit("price", None, start="2024-04-02", end="2024-04-03")
    assert "price/20240402_g" not in needs(world)
    assert needs(world)["price/20240403_g"] == _steps("2024-04-03")


def test_a_job_joins_a_partition_under_way(world: World) -> None:
    world.define(SHOPS)
    ask(world, "rates", "2024-04-01", "2024-04-02")
    work_off(world, only="load")
    claimed = take(world, "rates/2024-04-01")
    world.submit("price", "20240402_g", id="s")
    assert needs(world)["price/20240402_g"] == _steps("2024-04-01", "2024-04-02")
    assert world.record(claimed)
    world.deliver()
    work_off(world)
    assert world.submission("s") is SubmissionState.SUCCEEDED
    assert times_made(world, "rates") == {"2024-04-01": 1, "2024-04-02": 1}


def test_a_failed_step_ends_the_jobs_and_a_retry_of_the_submission_runs_both_again(world: World) -> None:
    world.define(SHOPS)
    id_ = world.submit("mail", None, start="2024-04-02", end="2024-04-02")
    work_off(world, failing=_steps("2024-04-02"))
    assert states(world)["price/20240402_g"] is State.UPSTREAM_FAILED
    assert world.submission(id_) is SubmissionState.FAILED
    world.retry(id_)
    assert ready(world) == _steps("2024-04-02")
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert times_made(world, "rates") == {"2024-04-01": 1, "2024-04-02": 1}


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_removal_of_history_changes_no_plan(world: World, is_changed: bool) -> None:
    _made(world)
    later(world)
    prune(world)
    assert rounds(world, "price") == {}
    if is_changed:
        ask(world, "rates", "2024-04-02", rerun="job")
        work_off(world)
    world.submit("price", None, start="2024-04-02", end="2024-04-02")
    assert ready(world) == (_keys("price", "20240402_g", "20240402_o") if is_changed else set())


def test_a_rerun_plans_the_partitions_of_a_failed_parent_again(world: World) -> None:
    world.define({**SHOPS, "rates": {**SHOPS["rates"], "step_size": 2}})
    world.submit("mail", "20240402_g")
    work_off(world, failing={"rates/2024-04-01..2024-04-02"})
    assert states(world)["price/20240402_g"] is State.UPSTREAM_FAILED
    ask(world, "rates", "2024-04-02", "2024-04-03")
    id_ = world.submit("mail", "20240402_g", rerun="job")
    assert owners(world, "rates") == {
        "2024-04-01": "rates/2024-04-01",
        "2024-04-02": "rates/2024-04-02..2024-04-03",
        "2024-04-03": "rates/2024-04-02..2024-04-03",
    }
    assert states(world)["rates/2024-04-01..2024-04-02"] is State.FAILED
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_a_retry_finds_partitions_that_another_submission_has_made(world: World) -> None:
    world.define({**SHOPS, "rates": {**SHOPS["rates"], "step_size": 2}})
    id_ = world.submit("price", "20240402_g")
    work_off(world, failing={"rates/2024-04-01..2024-04-02"})
    ask(world, "rates", "2024-04-02", "2024-04-03")
    work_off(world, only="load")
    work_off(world, only="rates/2024-04-02")
    world.retry(id_)
    assert ready(world) == _steps("2024-04-01")
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_an_external_table_is_waited_for(world: World) -> None:
    world.define({"price": {**_KEYED, "table_dependencies": [{"table": "rates"}]}})
    id_ = world.submit("price", None, start="2024-04-01", end="2024-04-02")
    assert ready(world) == set()
    world.land("rates", "2024-04-01")
    assert ready(world) == _keys("price", "20240401_g", "20240401_o")
    world.land("rates", "2024-04-02")
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED


def test_a_job_runs_again_if_a_partition_has_changed_since_it_began(world: World) -> None:
    _made(world)
    ask(world, "rates", "2024-04-02", rerun="job", push="wanted")
    work_off(world, only="rates")
    world.tick(after_s=60)
    before = rounds(world, "price")
    world.submit("mail", "20240402_g", id="mail")
    assert ready(world) == {"price/20240402_g"}
    work_off(world)
    assert rounds(world, "price") == before | {"price/20240402_g": before["price/20240402_g"] + 1}


def test_a_job_that_began_after_the_change_does_not_run_again(world: World) -> None:
    _made(world)
    world.submit("price", None, start="2024-04-02", end="2024-04-03", id="again")
    assert not ready(world)
    assert world.submission("again") is SubmissionState.SUCCEEDED


def test_a_change_makes_stale_what_was_made_from_the_days_of_the_jobs(world: World) -> None:
    _made(world)
    world.submit("load", "20240402_g", rerun="job")
    work_off(world, only="load")
    assert stale(world, "rates") == ["2024-04-02"]
    assert stale_days(world, "price") == days("2024-04-02", "2024-04-03")
    assert stale(world, "roll") == days("2024-04-02", "2024-04-03")


def test_restatement_runs_the_jobs_again_that_read_a_changed_partition(world: World) -> None:
    _made(world)
    world.submit("load", "20240401_g", rerun="job")
    work_off(world, only="load")
    found = world.ledger.transact(lambda tx: stale_partitions(tx, world.catalogue))
    assert [each.app for each in found] == ["rates", "price", "roll"]
    for each in found:
        world.submit(each.app, None, keys=list(each.keys or ()))
    work_off(world)
    assert not stale(world, "rates") + stale(world, "roll") + stale_days(world, "price")
    assert times_made(world, "rates") == {"2024-04-01": 2, "2024-04-02": 1, "2024-04-03": 1}
    assert rounds(world, "price") == {
        "price/20240402_g": 2,
        "price/20240402_o": 2,
        "price/20240403_g": 1,
        "price/20240403_o": 1,
    }
    assert times_made(world, "roll") == {"2024-04-02": 2, "2024-04-03": 1}


def test_a_day_of_a_job_that_read_an_old_partition_is_stale_from_the_start(world: World) -> None:
    world.define(SHOPS)
    ask(world, "rates", "2024-04-01", "2024-04-02")
    work_off(world)
    world.submit("price", None, start="2024-04-02", end="2024-04-02")
    claimed = world.take("price/20240402_g")
    world.tick(after_s=1)
    world.submit("load", "20240402_o", rerun="job")
    work_off(world, only="load")
    assert world.record(claimed)
    world.deliver()
    work_off(world, only="price")
    assert stale_days(world, "price") == ["2024-04-02"]


def test_a_rerun_of_a_partition_with_all_downstream_runs_the_jobs_again_that_read_it(world: World) -> None:
    _made(world)
    world.submit("mail", "20240402_g")
    work_off(world)
    id_ = ask(world, "rates", "2024-04-01", rerun="downstream", push="wanted")
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert times_made(world, "rates") == {"2024-04-01": 2, "2024-04-02": 1, "2024-04-03": 1}
    assert times_made(world, "roll") == {"2024-04-02": 2, "2024-04-03": 1}
    assert rounds(world, "price")["price/20240402_g"] == 2
    assert rounds(world, "mail") == {"mail/20240402_g": 2}
    assert not stale_days(world, "price") + stale(world, "roll")


def test_a_job_that_loses_an_alternative_pulls_the_partitions_of_the_next_one(world: World) -> None:
    groups = {"first": {"app_name": ["other"]}, "second": {"app_name": ["price"]}}
    world.define({**SHOPS, "other": _KEYED, "mail": {**_KEYED, "depends_on": groups}})
    id_ = world.submit("mail", "20240402_g")
    assert ready(world) == {"other/20240402_g"}
    work_off(world, failing={"other/20240402_g"})
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert there(world, "rates") == days("2024-04-01", "2024-04-02")


def test_the_end_of_a_parent_pushes_no_job_that_reads_tables(world: World) -> None:
    both = {**SHOPS["price"], "depends_on": {"app_name": ["load"]}}
    world.define({**SHOPS, "price": both})
    world.submit("load", "20240402_g")
    work_off(world)
    assert not states(world, "price")
    id_ = world.submit("price", "20240402_g")
    assert needs(world)["price/20240402_g"] == _steps("2024-04-01", "2024-04-02") | {"load/20240402_g"}
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED


@pytest.mark.parametrize("reading", [{"start_offset": None}, {"cumulative": True}], ids=["all", "cumulative"])
def test_a_table_read_from_its_beginning_counts_as_changed_when_it_lands_again(
    world: World, reading: dict[str, Any]
) -> None:
    world.define({"price": {**_KEYED, "table_dependencies": [{"table": "rates", **reading}]}})
    world.land("rates", "2024-04-01..2024-04-02")
    world.submit("price", None, start="2024-04-02", end="2024-04-02")
    work_off(world)
    world.tick(after_s=1)
    world.land("rates", "2024-03-31", "2024-04-03")
    world.submit("price", "20240402_g")
    assert not ready(world)
    world.land("rates", "2024-04-02", again=True)
    assert stale_days(world, "price") == ["2024-04-02"]
    world.tick(after_s=1)
    world.submit("price", "20240402_g")
    assert ready(world) == {"price/20240402_g"}
    work_off(world)
    assert stale_days(world, "price") == ["2024-04-02"]
    world.submit("price", "20240402_o")
    work_off(world)
    assert not stale_days(world, "price")


def test_a_job_reads_all_slices_of_a_table_with_a_second_dimension(world: World) -> None:
    by = {"unit": "day", "by": {"store": ["n", "s"]}}
    rates = {"bash_cmd": "true", "partition": by}
    world.define({"rates": rates, "price": {**_KEYED, "table_dependencies": [{"table": "rates"}]}})
    id_ = world.submit("price", "20240402_g")
    assert needs(world)["price/20240402_g"] == {"rates/n/2024-04-02", "rates/s/2024-04-02"}
    work_off(world, only="rates")
    assignment = assign(world.catalogue["price"], world.take("price/20240402_g"))
    assert assignment.inputs == {"rates": ("2024-04-02", "2024-04-02")}
    assert assignment.input_versions == {"rates": world.catalogue["rates"].version}
    world.tick(after_s=LEASE_S + 1)
    world.worker = world.hire()
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    world.tick(after_s=1)
    ask(world, "rates", "2024-04-02", rerun="job", by={"store": ["s"]})
    work_off(world)
    world.submit("price", "20240402_g")
    assert ready(world) == {"price/20240402_g"}
