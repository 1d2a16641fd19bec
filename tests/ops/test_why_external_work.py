"""Explanations of a job with external work that no worker holds."""

from datetime import timedelta

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger import external_work
from sluice.ledger.reads.fleet import QueueWorkers
from sluice.ledger.reads.obstacles import obstacles
from sluice.ops.why.answer import Explanation
from sluice.ops.why.explain import explain
from tests.ops.test_why import NOW, answer
from tests.world import World

BUSY = QueueWorkers(workers=1, threads=4, busy=4)
NOBODY = QueueWorkers(workers=0, threads=0, busy=0)


def _told(said: Explanation) -> tuple[str, list[str], list[str]]:
    return (
        said.because,
        [each.what for each in said.waits_for],
        [each.command for each in said.remedies],
    )


def test_running_external_work_has_its_status_and_next_poll() -> None:
    said = answer(
        {"crew": BUSY},
        state=State.RUNNING,
        handle="w1",
        next_poll_at=NOW + timedelta(seconds=3),
        poll_interval_s=5.0,
        round=2,
        external_status="at offset 7",
    )
    assert _told(said) == (
        "b/1 is running as external work, started 3 times, and is polled every 5 s; last status: at offset 7",
        ["the next poll, at 2026-01-01 12:00:03 UTC, in 3 s"],
        ["sluice cancel b 1"],
    )


def test_external_work_without_a_worker_has_advice_to_start_one() -> None:
    said = answer({"crew": NOBODY}, state=State.RUNNING, handle="w1", next_poll_at=NOW, poll_interval_s=5.0)
    assert _told(said) == (
        "b/1 is running as external work, and is polled every 5 s",
        ["the next poll, at 2026-01-01 12:00:00 UTC, due now"],
        ["sluice worker --queues b", "sluice cancel b 1"],
    )


def test_a_finished_job_names_external_work_that_is_not_ended() -> None:
    said = answer(
        {"crew": BUSY},
        state=State.CANCELLED,
        handle="w1",
        next_poll_at=NOW + timedelta(seconds=40),
        external_status="cancel() failed: 503",
    )
    assert _told(said) == (
        "b/1 was cancelled by name; its external work has not been stopped yet: cancel() failed: 503",
        ["the next attempt to stop its external work, at 2026-01-01 12:00:40 UTC, in 40 s"],
        ["sluice submit b 1"],
    )


def test_the_ledger_supplies_the_facts_about_external_work(world: World) -> None:
    world.apps("a")
    world.submit("a", id="s")
    claimed = world.claim("a")
    assert claimed is not None
    world.ledger.transact(lambda tx: external_work.store_handle(tx, claimed.right, "w1"))
    world.record(claimed, Ending.HANDED_BACK)
    world.cancel("s")
    name = JobName("a", "1")
    facts = world.ledger.transact(lambda tx: obstacles(tx, name, control=[]))
    said = explain(name, facts)
    assert "its external work has not been stopped yet" in said.because
    assert [each.kind for each in said.waits_for] == ["poll"]
