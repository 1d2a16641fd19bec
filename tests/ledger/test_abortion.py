"""Sagas that are called off after they have started: they are undone before they end."""

from datetime import timedelta

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.recovery.groomer_steps import Chore
from tests.ledger.flights import Sagas, awaits, did, switched, undid
from tests.world import LEASE_S, World


@pytest.fixture
def sagas(world: World) -> Sagas:
    world.apps("a")
    return Sagas(world)


def _undone(sagas: Sagas, claimed: ClaimedJob) -> None:
    """Undo the first step, and end the run."""
    for entry in (switched(2, 0), undid(3, 0)):
        assert sagas.write(claimed, entry).stands
    sagas.end(claimed, Ending.ERROR, "CalledOff")


def test_a_saga_that_has_not_started_is_cancelled_like_any_job(sagas: Sagas) -> None:
    sagas.world.cancel(sagas.world.submit("a"))
    assert sagas.world.state("a") is State.CANCELLED


def test_a_running_saga_that_is_cancelled_is_notified_and_ends_when_it_is_undone(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    assert sagas.write(claimed, did(1)).abort_reason is None
    sagas.world.cancel(submission)
    assert sagas.world.state("a") is State.RUNNING
    assert sagas.heed(claimed).abort_reason == AbortReason.UNWANTED
    _undone(sagas, claimed)
    assert sagas.world.state("a") is State.CANCELLED
    assert sagas.world.submission(submission) is SubmissionState.CANCELLED


def test_the_answer_to_the_next_journal_entry_reports_the_cancellation(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.world.cancel(submission)
    heard = sagas.write(claimed, did(1))
    assert (heard.stands, heard.abort_reason) == (True, AbortReason.UNWANTED)


def test_a_suspended_saga_that_is_cancelled_resumes_and_is_undone(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    sagas.suspend(sagas.claim(), 1, "approved")
    sagas.world.cancel(submission)
    sagas.world.tick()
    claimed = sagas.claim()
    log = sagas.read(claimed)
    assert log is not None
    assert log.abort_reason == AbortReason.UNWANTED
    _undone(sagas, claimed)
    assert sagas.world.state("a") is State.CANCELLED


def test_a_saga_that_is_cancelled_before_it_suspends_does_not_wait(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.world.cancel(submission)
    sagas.suspend(claimed, 1, "approved")
    assert sagas.world.state("a") is State.READY


def test_a_saga_that_waits_during_its_undo_continues_to_wait_if_it_is_cancelled(sagas: Sagas) -> None:
    """A resumed run could only wait again, and would be resumed again and again."""
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.write(claimed, switched(1, 0))
    sagas.write(claimed, awaits(2, "returned", undone=0))
    assert sagas.world.record(claimed, Ending.SUSPENDED, event="returned")
    sagas.world.cancel(submission)
    sagas.world.tick()
    assert sagas.world.state("a") is State.SUSPENDED
    sagas.say("returned")
    sagas.end(sagas.claim(), Ending.ERROR)
    assert sagas.world.state("a") is State.CANCELLED


def test_a_cancelled_saga_that_is_handed_back_or_lost_is_notified_in_its_next_run(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    first = sagas.claim()
    sagas.write(first, did(1))
    sagas.world.cancel(submission)
    sagas.end(first, Ending.HANDED_BACK)
    assert sagas.world.state("a") is State.READY
    sagas.claim()
    sagas.world.tick(after_s=LEASE_S + 1)
    third = sagas.claim()
    log = sagas.read(third)
    assert log is not None
    assert (log.last, log.abort_reason) == (did(1), AbortReason.UNWANTED)


def test_a_cancelled_saga_succeeds_if_its_last_step_is_done(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.world.cancel(submission)
    sagas.end(claimed)
    assert sagas.world.state("a") is State.SUCCEEDED


def test_a_cancelled_saga_that_fails_is_not_tried_again(world: World) -> None:
    world.apps("a", max_fails=3)
    submission = world.submit("a")
    sagas = Sagas(world)
    claimed = sagas.claim()
    world.cancel(submission)
    sagas.end(claimed, Ending.ERROR)
    assert world.state("a") is State.CANCELLED


def test_a_cancelled_saga_that_fails_has_no_flight_any_more(world: World) -> None:
    """The flight is over, so the saga is cancelled like any job that would start another round."""
    world.apps("a", max_fails=3)
    submission = world.submit("a")
    sagas = Sagas(world)
    claimed = sagas.claim()
    world.cancel(submission)
    assert world.record(claimed, Ending.ERROR)
    assert world.state("a") is State.CANCELLED
    assert not world.field("a", "saga_open")


def test_a_saga_that_is_requested_again_while_it_is_undone_gets_another_flight(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.write(claimed, did(1))
    sagas.world.cancel(submission)
    again = sagas.world.submit("a")
    _undone(sagas, claimed)
    assert (sagas.world.state("a"), sagas.world.round("a")) == (State.READY, 0)
    second = sagas.claim()
    assert second.flight == claimed.flight + 1
    log = sagas.read(second)
    assert log is not None
    assert (log.last, log.abort_reason) == (None, None)
    sagas.end(second)
    assert sagas.world.submission(again) is SubmissionState.SUCCEEDED


def test_a_saga_that_another_submission_requests_continues(sagas: Sagas) -> None:
    first, _ = sagas.world.submit("a"), sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.world.cancel(first)
    assert sagas.heed(claimed).abort_reason is None


def test_a_saga_that_is_cancelled_by_name_is_undone_although_it_is_requested(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    claimed = sagas.claim()
    sagas.cancel_job("a")
    assert sagas.heed(claimed).abort_reason == AbortReason.CANCELLED
    _undone_at_once(sagas, claimed)
    assert sagas.world.state("a") is State.CANCELLED
    assert sagas.world.submission(submission) is SubmissionState.FAILED


def test_the_children_of_a_cancelled_saga_wait_until_it_is_undone(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    sagas = Sagas(world)
    claimed = sagas.claim()
    sagas.cancel_job("a")
    assert world.state("b") is State.WAITING
    _undone_at_once(sagas, claimed)
    assert world.state("b") is State.UPSTREAM_FAILED


@pytest.mark.parametrize("suspended", [False, True])
def test_a_saga_past_its_deadline_is_undone_and_then_expired(sagas: Sagas, suspended: bool) -> None:
    sagas.world.submit("a", policy={"end_before": _in_10_s(sagas)})
    claimed = sagas.claim()
    if suspended:
        sagas.suspend(claimed, 1, "approved")
    sagas.world.tick(after_s=11)
    if suspended:
        claimed = sagas.claim()
    assert sagas.heed(claimed).abort_reason == AbortReason.EXPIRED
    _undone_at_once(sagas, claimed)
    assert sagas.world.state("a") is State.EXPIRED


def test_a_saga_that_is_handed_back_past_its_deadline_is_claimed_again_and_notified(sagas: Sagas) -> None:
    sagas.world.submit("a", policy={"end_before": _in_10_s(sagas)})
    first = sagas.claim()
    sagas.world.tick(after_s=11)
    sagas.end(first, Ending.HANDED_BACK)
    sagas.world.tick(after_s=1)
    assert sagas.heed(sagas.claim()).abort_reason == AbortReason.EXPIRED


def test_a_saga_that_ends_well_past_its_deadline_succeeds(sagas: Sagas) -> None:
    """The effects of the saga stay. An expired saga has no effects left."""
    sagas.world.submit("a", policy={"end_before": _in_10_s(sagas)})
    claimed = sagas.claim()
    sagas.world.tick(after_s=11)
    sagas.end(claimed)
    assert sagas.world.state("a") is State.SUCCEEDED


def test_the_groomer_handles_a_saga_past_its_deadline_only_once(sagas: Sagas) -> None:
    sagas.world.submit("a", policy={"end_before": _in_10_s(sagas)})
    sagas.claim()
    sagas.world.tick(after_s=11)
    assert Chore.EXPIRE not in sagas.world.ledger.transact(groomer_steps.due)


def test_a_saga_that_was_paused_before_it_was_cancelled_is_undone(sagas: Sagas) -> None:
    submission = sagas.world.submit("a")
    sagas.suspend(sagas.claim(), 1, "approved")
    sagas.world.pause(submission)
    sagas.world.cancel(submission)
    sagas.world.tick()
    assert sagas.heed(sagas.claim()).abort_reason == AbortReason.UNWANTED


def _undone_at_once(sagas: Sagas, claimed: ClaimedJob) -> None:
    sagas.end(claimed, Ending.ERROR, "CalledOff")


def _in_10_s(sagas: Sagas) -> str:
    return (sagas.world.now + timedelta(seconds=10)).isoformat()


@pytest.fixture
def child(world: World) -> Sagas:
    """Prepare saga ``b``, which could not be undone.

    Rerun it and its parent ``a``. The run of ``b`` continues with the remaining undo and does not wait for ``a``.
    ``b`` has one more try after it.
    """
    world.apps("a -> b", max_fails=1)
    world.submit("b")
    world.finish("a")
    sagas = Sagas(world)
    claimed = sagas.claim("b")
    sagas.write(claimed, switched(1, 0))
    sagas.end(claimed, Ending.UNDO_FAILED)
    world.submit("a", rerun="job")
    world.submit("b", rerun="job", policy={"priority": 7})
    return sagas


def test_the_next_flight_of_a_saga_waits_for_a_parent_that_was_rerun_meanwhile(child: Sagas) -> None:
    child.end(child.claim("b"), Ending.ERROR)
    assert child.world.state("b") is State.WAITING
    assert child.world.field("a", "priority") == 7
    child.world.finish("a")
    assert child.world.state("b") is State.READY


def test_a_saga_is_not_tried_again_if_its_parent_has_failed_meanwhile(child: Sagas) -> None:
    claimed = child.claim("b")
    child.world.finish("a", Ending.ERROR)
    child.world.finish("a", Ending.ERROR)
    assert child.world.state("a") is State.FAILED
    child.end(claimed, Ending.ERROR)
    assert child.world.state("b") is State.UPSTREAM_FAILED
