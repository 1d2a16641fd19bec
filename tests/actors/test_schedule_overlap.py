"""Due times that come while an earlier submission is open."""

import pytest

from sluice.actors.scheduler import manual
from sluice.jobs.model.submission import SubmissionState
from sluice.scheduler.overlap import QUEUED_MAX
from tests.timed import Timed

FIVE = {"cron": "*/5 * * * *", "key": "{due:%H%M}"}


def end(timed: Timed, at: str) -> None:
    """End the submission of this due time by finishing its one ready job."""
    timed.finish(f"a/{at.replace(':', '')}")


def test_by_default_submissions_run_side_by_side(timed: Timed) -> None:
    """The schedule is due every five minutes, and its earlier submissions are still open."""
    timed.edit(s=FIVE)
    timed.look()
    for at in ("12:05:00", "12:10:00", "12:15:00"):
        timed.look(at)
    assert timed.came() == "12:05 fired, 12:10 fired, 12:15 fired"


def test_skip_fires_again_once_the_earlier_one_has_ended(timed: Timed) -> None:
    """The schedule is due every five minutes and takes seven, so it is fired every ten."""
    timed.edit(s={**FIVE, "overlap": "skip"})
    timed.look()
    timed.look("12:05:00")
    timed.look("12:10:00")
    end(timed, "12:05")
    timed.look("12:15:00")
    assert timed.came() == "12:05 fired, 12:10 skipped, 12:15 fired"
    assert timed.firings()[1].note == "an earlier submission is open"


def test_queue_fires_one_after_the_other_in_order(timed: Timed) -> None:
    timed.edit(s={**FIVE, "overlap": "queue"})
    timed.look()
    for at in ("12:05:00", "12:10:00", "12:15:00", "12:16:00"):
        timed.look(at)
    assert timed.came() == "12:05 fired, 12:10 queued, 12:15 queued"
    end(timed, "12:05")
    timed.look("12:17:00")
    assert timed.came() == "12:05 fired, 12:10 fired, 12:15 queued"
    assert timed.submissions()[-1] == "schedule:s:2026-01-01T12:10:00Z"
    end(timed, "12:10")
    # The next due time comes in the same look that fires the queued one.
    timed.look("12:20:00")
    assert timed.came() == "12:05 fired, 12:10 fired, 12:15 fired, 12:20 queued"


def test_a_limited_number_of_due_times_wait_and_the_others_are_skipped(timed: Timed) -> None:
    timed.edit(s={"every": "1m", "overlap": "queue", "catch_up": "all"})
    timed.look()
    timed.look("12:30:00")
    outcomes = [each.outcome for each in timed.firings()]
    assert outcomes == ["fired"] + ["queued"] * QUEUED_MAX + ["skipped"] * (29 - QUEUED_MAX)


def test_replace_cancels_the_open_submission_and_its_running_job(timed: Timed) -> None:
    timed.edit(s={**FIVE, "overlap": "replace"})
    timed.look()
    timed.look("12:05:00")
    timed.beat(timed.worker)
    claimed = timed.claim("a/1205")
    timed.look("12:10:00")
    first, second = timed.fired()
    assert timed.submission(first) is SubmissionState.CANCELLED
    assert timed.submission(second) is SubmissionState.ACTIVE
    assert timed.state("a/1205") == "cancelled"
    assert claimed is not None
    assert not timed.record(claimed)


def test_replace_keeps_the_jobs_that_both_submissions_request(timed: Timed) -> None:
    timed.edit(s={**FIVE, "key": "same", "overlap": "replace"})
    timed.look()
    timed.look("12:05:00")
    timed.look("12:10:00")
    assert timed.state("a/same") == "ready"
    assert [timed.submission(id_) for id_ in timed.fired()] == ["cancelled", "active"]


def test_a_key_that_stays_the_same_is_run_again(timed: Timed) -> None:
    timed.edit(s={**FIVE, "key": "same"})
    timed.look()
    for at in ("12:05:00", "12:10:00"):
        timed.look(at)
        timed.finish("a/same")
    assert timed.history("a/same").count("running") == 2


class TestAppsThatRunAlone:
    def test_one_schedule_skips_while_another_of_its_app_is_open(self, timed: Timed) -> None:
        words = {"app": "chunked", "key": ..., "work_ids": "1-4", "cron": "*/5 * * * *"}
        timed.edit(s=words, t=words)
        timed.look()
        timed.look("12:05:00")
        assert sorted((timed.came(), timed.came("t"))) == ["12:05 fired", "12:05 skipped"]
        timed.look("12:10:00")
        assert timed.came() == "12:05 fired, 12:10 skipped"

    def test_a_due_time_waits_while_another_submission_of_its_app_is_open(self, timed: Timed) -> None:
        timed.edit(s={"app": "chunked", "key": ..., "work_ids": [7], "overlap": "queue"})
        timed.look()
        theirs = timed.submit("chunked", None, work_ids=[1])
        timed.look("13:00:00")
        timed.look("13:00:05")
        assert timed.came() == "13:00 queued"
        timed.cancel(theirs)
        timed.look("13:01:00")
        assert timed.came() == "13:00 fired"


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
def test_a_due_time_that_was_fired_early_by_hand_is_not_fired_again(timed: Timed, overlap: str) -> None:
    timed.edit(s={"overlap": overlap})
    timed.look()
    due = timed.standing().next_due
    fired = manual.fire(timed.ledger, timed.catalogue.schedules["s"], due)
    timed.look("13:00:00")
    assert (timed.came(), timed.next()) == ("13:00 fired", "14:00")
    assert timed.submissions() == [fired.submission]
    assert timed.submission(fired.submission) is not SubmissionState.CANCELLED
