"""Work elsewhere whose worker has died, or whose job is over: it is found again, or ended by whoever is sent to."""

from contextlib import closing

import pytest

from sluice.jobs.managed import Status
from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.ledger import handles
from sluice.ledger.reads.idle import idle
from tests.actors.unending import Died, LastTransaction, Site
from tests.world import LEASE_S

#: As often as the grid wants to be asked.
POLL_S = 5


# Crashes.


def test_a_worker_that_dies_while_it_starts_the_work_leaves_that_to_the_next(site: Site) -> None:
    """Its token is the same, so what was started is found."""
    site.world.submit("far")
    with closing(LastTransaction(site.world)) as last, pytest.raises(Died):
        site.run(ledger=last)
    assert (site.asked, site.field("handle")) == (["run"], None)
    site.world.tick(after_s=LEASE_S + 1)
    site.run()
    assert site.asked == ["run", "run"]
    assert list(site.grid["alive"].values()) == ["w1"]
    assert (site.field("handle"), site.field("losses"), site.field("worker")) == ("w1", 1, None)


def test_a_claim_that_was_lost_leaves_nothing_behind(site: Site) -> None:
    site.world.submit("far", policy={"max_losses": 0})

    def lose() -> None:
        site.grid["meanwhile"] = lambda: None
        site.world.tick(after_s=LEASE_S + 1)

    site.grid["meanwhile"] = lose
    site.run()
    assert site.world.state("far") is State.FAILED
    assert site.asked == ["run", "cancel"]


def test_an_ordinary_job_that_is_handed_back_to_one_that_is_long_running_now_is_found(site: Site) -> None:
    """The work that an earlier claim has started is left to the looks, and run is not called."""
    site.world.submit("far")
    claimed = site.world.claim("far")
    assert claimed is not None
    site.world.ledger.transact(lambda tx: handles.keep(tx, claimed.right, "w7"))
    site.world.record(claimed, Ending.HANDED_BACK)
    site.run()
    assert (site.asked, site.field("handle")) == ([], "w7")
    site.passes(POLL_S)
    assert site.asked == ["check"]


# Stopping it, and ending any work of a job that is over.


def test_it_is_stopped_by_whoever_serves_its_app(started: Site) -> None:
    started.answer(Status("running", "at offset 7"))
    started.passes(POLL_S)
    started.world.cancel("s")
    assert (started.world.state("far"), started.field("handle")) == (State.CANCELLED, "w1")
    assert started.field("said") is None, "it does not say why it is not ended"
    started.passes(0)
    assert started.asked == ["run", "check", "cancel"]
    assert (started.field("handle"), started.field("watch_at")) == (None, None)


def test_it_is_tried_for_ever_to_end_it(started: Site) -> None:
    started.grid["cancel_breaks"] = 12
    started.world.cancel("s")
    pauses = []
    started.passes(0)
    while started.field("handle") is not None:
        pauses.append((started.field("watch_at") - started.world.now).total_seconds())
        assert "the grid does not answer" in started.field("said")
        started.passes(pauses[-1])
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    assert started.asked == ["run", *["cancel"] * 13]


def test_an_end_before_stops_it(site: Site) -> None:
    site.world.submit("far", policy={"end_before": "2026-01-01T00:01:00Z"})
    site.run()
    site.world.tick(after_s=61)
    assert site.world.state("far") is State.EXPIRED
    site.passes(1)
    assert site.asked == ["run", "cancel"]


def test_a_look_that_finds_the_job_cancelled_meanwhile_changes_nothing(started: Site) -> None:
    started.answer("failed")
    started.world.tick(after_s=POLL_S)
    started.look(meanwhile=lambda: started.world.cancel("s"))
    assert started.world.history("far")[-1] == "cancelled"
    assert started.field("handle") == "w1"
    started.passes(1)
    assert started.asked == ["run", "check", "cancel"]
    assert started.field("handle") is None


def test_one_that_is_wanted_anew_before_it_was_ended_finds_the_old_work(started: Site) -> None:
    started.world.cancel("s")
    started.world.submit("far")
    started.run()
    started.passes(POLL_S)
    assert started.asked == ["run", "run", "check"]
    assert (started.world.state("far"), started.field("handle")) == (State.RUNNING, "w1")


@pytest.mark.parametrize("how", ["handed back", "its worker dead"])
def test_an_ordinary_job_that_is_cancelled_while_nobody_runs_it_has_its_work_ended(
    site: Site, how: str
) -> None:
    site.world.submit("short", id="s")
    claimed = site.world.claim("short", worker=site.world.hire())
    assert claimed is not None
    site.world.ledger.transact(lambda tx: handles.keep(tx, claimed.right, "w7"))
    if how == "handed back":
        site.world.record(claimed, Ending.HANDED_BACK)
    site.world.cancel("s")
    site.passes(11)
    assert (site.asked, site.field("handle", "short")) == (["cancel"], None)


def test_a_worker_that_is_about_to_hear_of_it_ends_the_work_by_itself(site: Site) -> None:
    site.world.submit("short", id="s")
    claimed = site.world.claim("short")
    assert claimed is not None
    site.world.ledger.transact(lambda tx: handles.keep(tx, claimed.right, "w7"))
    site.world.cancel("s")
    site.passes(5)
    assert site.asked == []
    site.world.ledger.transact(lambda tx: handles.forget(tx, claimed.right, "w7"))
    site.passes(60)
    assert site.asked == []


def test_what_its_last_run_could_not_end_others_go_on_trying(site: Site) -> None:
    """It is cancelled while run is called, so the ledger has no handle yet."""
    site.world.submit("far", id="s")
    site.grid["cancel_breaks"] = 4
    site.grid["meanwhile"] = lambda: site.world.cancel("s")
    site.run()
    site.grid["meanwhile"] = lambda: None
    assert (site.world.state("far"), site.field("handle")) == (State.CANCELLED, "w1")
    site.passes(0)
    site.passes(60)
    assert (site.asked.count("cancel"), site.field("handle")) == (5, None)


# Leaving when nothing else is left to do.


def _is_idle(site: Site) -> bool:
    return site.world.ledger.transact(lambda tx: idle(tx, ()))


def test_nobody_who_drains_waits_for_it(site: Site) -> None:
    site.world.submit("far", id="s")
    assert not _is_idle(site), "it is yet to be started"
    site.run()
    assert _is_idle(site)
    site.answer("failed")
    site.passes(POLL_S)
    assert _is_idle(site), "it would come back for ever"
    site.world.tick(after_s=1)
    site.run()
    site.grid["cancel_breaks"] = 1
    site.world.cancel("s")
    assert not _is_idle(site), "its work is to be ended"
    site.passes(0)
    assert _is_idle(site), "that was tried in vain"
