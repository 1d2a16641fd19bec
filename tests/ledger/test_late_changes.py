"""Jobs with keys that read tables, and changes of these tables that are reported late or happen between two begins."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sluice.actors.executor import transactions
from sluice.broker.messages import Message
from sluice.jobs.model.job import Ending, Outcome
from tests.ledger.lineages import ask, ready, work_off
from tests.ledger.test_table_readers import SHOPS, stale_days
from tests.world import World

_DAILY: dict[str, Any] = {"bash_cmd": "true", "job_id": "{date}", "identifiers": {"date": "date"}}
#: Jobs of ``price`` read the days that jobs of ``load`` make.
_DAYS: dict[str, Any] = {
    "load": {**_DAILY, "output_table": "sales"},
    "price": {**_DAILY, "table_dependencies": [{"table": "sales"}]},
}


def _pass(world: World) -> None:
    world.now += timedelta(seconds=1)


def _finish_unreported(world: World, job: str) -> Sequence[Message]:
    """Run a job. Return the messages about its end, by which the planner records its day."""
    world.beat(world.worker)
    claimed = world.take(job)
    _pass(world)
    done = {claimed.right: Outcome(ending=Ending.DONE)}
    settled = transactions.settle(world.ledger, world.catalogue, done)
    assert not settled.refused
    _pass(world)
    return settled.messages


def _report(world: World, reports: Sequence[Message]) -> None:
    world.queue.extend(reports)
    world.deliver()
    _pass(world)


def test_a_job_that_begins_before_the_report_of_a_day_is_not_outdated(world: World) -> None:
    world.define(_DAYS)
    world.submit("price", "20240402")
    reports = _finish_unreported(world, "load/20240402")
    claimed = world.take("price/20240402")
    _pass(world)
    _report(world, reports)
    assert world.record(claimed)
    world.submit("price", "20240402")
    assert ready(world) == set()


def test_a_day_is_stale_if_its_job_ran_while_the_day_that_it_reads_changed(world: World) -> None:
    world.define(_DAYS)
    world.submit("price", "20240402")
    work_off(world)
    _pass(world)
    world.submit("price", "20240402", rerun="job")
    world.submit("load", "20240402", rerun="job", push="wanted")
    claimed = world.take("price/20240402")
    _pass(world)
    reports = _finish_unreported(world, "load/20240402")
    assert world.record(claimed)
    _pass(world)
    assert stale_days(world, "price") == []
    _report(world, reports)
    assert stale_days(world, "price") == ["2024-04-02"]


def test_only_the_job_of_a_stale_day_that_read_the_old_partition_runs_again(world: World) -> None:
    world.define({app: words for app, words in SHOPS.items() if app != "mail"})
    world.submit("price", None, start="2024-04-02", end="2024-04-02")
    work_off(world, only="load")
    work_off(world, only="rates")
    _pass(world)
    early = world.take("price/20240402_g")
    _pass(world)
    ask(world, "rates", "2024-04-02", rerun="job")
    work_off(world, only="rates")
    _pass(world)
    late = world.take("price/20240402_o")
    _pass(world)
    assert world.record(early)
    assert world.record(late)
    assert stale_days(world, "price") == ["2024-04-02"]
    world.submit("price", None, start="2024-04-02", end="2024-04-02")
    assert ready(world) == {"price/20240402_g"}
