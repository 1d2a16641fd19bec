"""External work after the death of its worker, or after the end of its job. The next claim finds the work again, or any
worker of the app ends it."""

from contextlib import closing

import pytest

from sluice.jobs.model.external_work import Status
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger import external_work
from sluice.ledger.reads.quiescence import idle
from tests.actors.long_running import Died, LastTransaction, Site
from tests.world import LEASE_S

#: Seconds between two polls of the grid: its ``poll_s``.
POLL_S = 5


# Crashes.


def test_after_a_crash_during_the_start_the_next_worker_finds_the_work(site: Site) -> None:
    """The second ``run`` has the same token, so the grid returns the work that it has already started."""
    site.world.submit("far")
    with closing(LastTransaction(site.world)) as last, pytest.raises(Died):
        site.run(ledger=last)
    assert (site.asked, site.field("handle")) == (["run"], None)
    site.world.tick(after_s=LEASE_S + 1)
    site.run()
    assert site.asked == ["run", "run"]
    assert list(site.grid["alive"].values()) == ["w1"]
    assert (site.field("handle"), site.field("losses"), site.field("worker")) == ("w1", 1, None)


def test_work_that_was_started_under_a_lost_claim_is_ended(site: Site) -> None:
    site.world.submit("far", policy={"max_losses": 0})

    def lose() -> None:
        site.grid["meanwhile"] = lambda: None
        site.world.tick(after_s=LEASE_S + 1)

    site.grid["meanwhile"] = lose
    site.run()
    assert site.world.state("far") is State.FAILED
    assert site.asked == ["run", "cancel"]


def test_work_that_was_started_before_its_app_became_long_running_is_polled(site: Site) -> None:
    """The ordinary job was handed back with its handle. The next claim leaves the work to polls and does not call
    ``run``."""
    site.world.submit("far")
    claimed = site.world.claim("far")
    assert claimed is not None
    site.world.ledger.transact(lambda tx: external_work.store_handle(tx, claimed.right, "w7"))
    site.world.record(claimed, Ending.HANDED_BACK)
    site.run()
    assert (site.asked, site.field("handle")) == ([], "w7")
    site.passes(POLL_S)
    assert site.asked == ["check"]


# Stopping a long-running service, and ending the external work of any job that is over.


def test_a_worker_of_the_app_ends_the_work_of_a_cancelled_service(started: Site) -> None:
    started.answer(Status("running", "at offset 7"))
    started.passes(POLL_S)
    started.world.cancel("s")
    assert (started.world.state("far"), started.field("handle")) == (State.CANCELLED, "w1")
    assert started.field("external_status") is None, "no attempt to end the work has failed yet"
    started.passes(0)
    assert started.asked == ["run", "check", "cancel"]
    assert (started.field("handle"), started.field("next_poll_at")) == (None, None)


def test_ending_the_work_is_retried_with_pauses_that_grow_to_an_hour(started: Site) -> None:
    started.grid["cancel_breaks"] = 12
    started.world.cancel("s")
    pauses = []
    started.passes(0)
    while started.field("handle") is not None:
        pauses.append((started.field("next_poll_at") - started.world.now).total_seconds())
        assert "the grid does not answer" in started.field("external_status")
        started.passes(pauses[-1])
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    assert started.asked == ["run", *["cancel"] * 13]


def test_a_service_is_stopped_at_its_end_before(site: Site) -> None:
    site.world.submit("far", policy={"end_before": "2026-01-01T00:01:00Z"})
    site.run()
    site.world.tick(after_s=61)
    assert site.world.state("far") is State.EXPIRED
    site.passes(1)
    assert site.asked == ["run", "cancel"]


def test_a_poll_during_which_the_job_is_cancelled_changes_nothing(started: Site) -> None:
    started.answer("failed")
    started.world.tick(after_s=POLL_S)
    started.look(meanwhile=lambda: started.world.cancel("s"))
    assert started.world.history("far")[-1] == "cancelled"
    assert started.field("handle") == "w1"
    started.passes(1)
    assert started.asked == ["run", "check", "cancel"]
    assert started.field("handle") is None


def test_a_service_requested_again_before_its_work_ended_finds_that_work(started: Site) -> None:
    started.world.cancel("s")
    started.world.submit("far")
    started.run()
    started.passes(POLL_S)
    assert started.asked == ["run", "run", "check"]
    assert (started.world.state("far"), started.field("handle")) == (State.RUNNING, "w1")


@pytest.mark.parametrize("how", ["handed back", "its worker dead"])
def test_a_job_cancelled_while_no_worker_runs_it_has_its_work_ended(site: Site, how: str) -> None:
    site.world.submit("short", id="s")
    claimed = site.world.claim("short", worker=site.world.hire())
    assert claimed is not None
    site.world.ledger.transact(lambda tx: external_work.store_handle(tx, claimed.right, "w7"))
    if how == "handed back":
        site.world.record(claimed, Ending.HANDED_BACK)
    site.world.cancel("s")
    site.passes(11)
    assert (site.asked, site.field("handle", "short")) == (["cancel"], None)


def test_a_worker_that_holds_a_cancelled_job_ends_the_work_itself(site: Site) -> None:
    site.world.submit("short", id="s")
    claimed = site.world.claim("short")
    assert claimed is not None
    site.world.ledger.transact(lambda tx: external_work.store_handle(tx, claimed.right, "w7"))
    site.world.cancel("s")
    site.passes(5)
    assert site.asked == []
    site.world.ledger.transact(lambda tx: external_work.remove_handle(tx, claimed.right, "w7"))
    site.passes(60)
    assert site.asked == []


def test_other_workers_retry_to_end_work_that_its_run_could_not_end(site: Site) -> None:
    """The job is cancelled during ``run``, so the ledger has no handle yet."""
    site.world.submit("far", id="s")
    site.grid["cancel_breaks"] = 4
    site.grid["meanwhile"] = lambda: site.world.cancel("s")
    site.run()
    site.grid["meanwhile"] = lambda: None
    assert (site.world.state("far"), site.field("handle")) == (State.CANCELLED, "w1")
    site.passes(0)
    site.passes(60)
    assert (site.asked.count("cancel"), site.field("handle")) == (5, None)


# Draining: workers that exit once the ledger is idle.


def _is_idle(site: Site) -> bool:
    return site.world.ledger.transact(lambda tx: idle(tx, ()))


def test_draining_does_not_wait_for_a_service_that_has_begun(site: Site) -> None:
    site.world.submit("far", id="s")
    assert not _is_idle(site), "the service has not started yet"
    site.run()
    assert _is_idle(site)
    site.answer("failed")
    site.passes(POLL_S)
    assert _is_idle(site), "it is retried indefinitely, so a drain must not wait for it"
    site.world.tick(after_s=1)
    site.run()
    site.grid["cancel_breaks"] = 1
    site.world.cancel("s")
    assert not _is_idle(site), "its work must still be ended"
    site.passes(0)
    assert _is_idle(site), "an attempt to end the work has failed"
