"""Handles of external work: stored under a claim, kept if it is lost, removed when the job starts from nothing."""

from typing import Any

import pytest

from sluice.jobs.model.external_work import WorkOwner
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger import external_work
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import LEASE_S, World

HANDLE = {"pod": 7}


def _claimed(world: World, **words: Any) -> ClaimedJob:
    """Submit a job and claim it for a worker that sends no heartbeats."""
    world.apps("a", **words)
    world.submit("a")
    return _again(world)


def _again(world: World) -> ClaimedJob:
    claimed = world.claim("a", worker=world.hire())
    assert claimed is not None
    return claimed


def _keep(world: World, claimed: ClaimedJob, handle: Any = HANDLE) -> bool:
    return world.ledger.transact(lambda tx: external_work.store_handle(tx, claimed.right, handle))


def _keeper(world: World, claimed: ClaimedJob, handle: Any = HANDLE) -> WorkOwner:
    return world.ledger.transact(lambda tx: external_work.owner_of(tx, claimed.right, handle))


def _lose(world: World) -> None:
    world.tick(after_s=LEASE_S + 1)


def test_a_claim_begins_without_a_handle(world: World) -> None:
    assert _claimed(world).handle is None


@pytest.mark.parametrize("handle", ["job-1", 7, 0, False, [], {}, {"a": [None, 1.5]}])
def test_any_json_value_but_null_is_read_as_it_was_stored(world: World, handle: Any) -> None:
    assert _keep(world, _claimed(world), handle)
    _lose(world)
    assert _again(world).handle == handle


# Handles that are kept.


def test_a_lost_lease_leaves_the_handle_to_the_next_claim(world: World) -> None:
    first = _claimed(world)
    assert _keep(world, first)
    assert _keeper(world, first) is WorkOwner.OURS
    _lose(world)
    assert _keeper(world, first) is WorkOwner.ANOTHER
    second = _again(world)
    assert second.handle == HANDLE
    assert _keeper(world, first) is WorkOwner.ANOTHER
    assert _keeper(world, second) is WorkOwner.OURS


def test_a_job_that_is_handed_back_keeps_its_handle(world: World) -> None:
    first = _claimed(world)
    _keep(world, first)
    assert world.record(first, Ending.HANDED_BACK)
    assert _keeper(world, first) is WorkOwner.ANOTHER
    assert _again(world).handle == HANDLE


@pytest.mark.parametrize("how", ["cancelled", "given up", "expired", "timed out by the groomer"])
def test_a_job_ended_without_its_worker_keeps_the_handle_until_the_work_ends(world: World, how: str) -> None:
    claimed = _claimed(world, max_losses=0, timeout=5 if "timed" in how else None)
    _keep(world, claimed)
    if how == "cancelled":
        submission = world.ledger.transact(lambda tx: tx.column("SELECT id FROM submission"))[0]
        world.cancel(submission)
    elif how == "expired":
        world.ledger.transact(lambda tx: tx.write("UPDATE job SET end_before = %(now)s"))
        world.tick(after_s=1)
    else:
        world.tick(after_s=LEASE_S + 1 if how == "given up" else 8)
    assert world.state("a") in {State.CANCELLED, State.FAILED, State.EXPIRED, State.TIMED_OUT}
    assert _keeper(world, claimed) is WorkOwner.NONE
    assert world.field("a", "handle") == HANDLE
    world.ledger.transact(lambda tx: external_work.remove_handle(tx, claimed.right, HANDLE))
    assert world.field("a", "handle") is None


# Handles that are removed.


@pytest.mark.parametrize("ending", [Ending.DONE, Ending.ERROR, Ending.TIMED_OUT])
def test_a_round_that_is_over_leaves_no_handle(world: World, ending: Ending) -> None:
    first = _claimed(world, max_fails=1, max_timeouts=1)
    _keep(world, first)
    assert world.record(first, ending)
    assert world.field("a", "handle") is None
    assert _keeper(world, first) is WorkOwner.NONE
    if ending is not Ending.DONE:
        world.tick(after_s=1)
        assert _again(world).handle is None


def test_a_job_that_timed_out_in_its_last_try_leaves_no_handle(world: World) -> None:
    first = _claimed(world)
    _keep(world, first)
    assert world.record(first, Ending.TIMED_OUT)
    assert world.state("a") is State.TIMED_OUT
    assert world.field("a", "handle") is None


def test_a_run_that_the_groomer_times_out_is_retried_without_the_handle(world: World) -> None:
    first = _claimed(world, timeout=5, max_timeouts=1)
    _keep(world, first)
    world.tick(after_s=8)
    assert world.state("a") is State.READY
    assert _keeper(world, first) is WorkOwner.NONE
    assert _again(world).handle is None


def test_a_rerun_begins_without_the_handle_of_the_last_life(world: World) -> None:
    first = _claimed(world, max_losses=0)
    _keep(world, first)
    _lose(world)
    assert world.field("a", "handle") == HANDLE
    world.submit("a", rerun="job")
    assert world.state("a") is State.READY
    assert _again(world).handle is None


# Handles that are refused.


def test_a_lost_claim_cannot_store_a_handle(world: World) -> None:
    first = _claimed(world)
    _lose(world)
    assert not _keep(world, first)
    second = _again(world)
    assert not _keep(world, first)
    assert second.handle is None
    assert _keep(world, second)


def test_a_later_claim_without_a_handle_may_still_find_the_old_work(world: World) -> None:
    first = _claimed(world)
    _lose(world)
    assert _keeper(world, first) is WorkOwner.NONE, "no worker started it, so it will be started again"
    second = _again(world)
    assert _keeper(world, first) is WorkOwner.ANOTHER
    _keep(world, second, "other work")
    assert _keeper(world, first) is WorkOwner.NONE
    _keep(world, second)
    assert _keeper(world, first) is WorkOwner.ANOTHER, "it was found by its token"


def test_only_the_last_claim_of_an_ended_job_can_remove_its_handle(world: World) -> None:
    first = _claimed(world, max_losses=1)
    _keep(world, first)
    world.ledger.transact(lambda tx: external_work.remove_handle(tx, first.right, HANDLE))
    _lose(world)
    second = _again(world)
    _lose(world)
    assert world.state("a") is State.FAILED
    world.ledger.transact(lambda tx: external_work.remove_handle(tx, first.right, HANDLE))
    world.ledger.transact(lambda tx: external_work.remove_handle(tx, second.right, "other work"))
    assert world.field("a", "handle") == HANDLE


def test_a_job_that_does_not_exist_has_no_keeper(world: World) -> None:
    claimed = _claimed(world)
    world.ledger.transact(lambda tx: tx.write("TRUNCATE job, submission, submission_job, round, history"))
    assert _keeper(world, claimed) is WorkOwner.NONE
