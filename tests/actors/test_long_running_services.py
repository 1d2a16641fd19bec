"""Long-running services: started, left to polls, polled, started again, and stopped."""

import pytest

from sluice.jobs.model.external_work import Status
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger import external_work
from tests.actors.long_running import Delivered, Site
from tests.world import LEASE_S, catalogue_of

#: Seconds between two polls of the grid: its ``poll_s``.
POLL_S = 5


# Start.


def test_started_work_holds_no_worker_and_still_belongs_to_its_job(started: Site) -> None:
    assert started.world.state("far") is State.RUNNING
    assert (started.field("worker"), started.field("handle"), started.field("claim")) == (None, "w1", 1)
    assert started.holdings.known() == []
    assert started.asked == ["run"]
    assert "starting 1" in started.round("output")


def test_a_service_outlives_the_lease_of_the_worker_that_started_it(started: Site) -> None:
    started.passes(10 * LEASE_S)
    assert started.world.history("far") == ["waiting", "ready", "running"]
    assert started.asked == ["run", "check"]


def test_a_submission_stays_active_as_long_as_its_service_runs(started: Site) -> None:
    for _ in range(5):
        started.passes(POLL_S)
    assert started.world.submission("s") is SubmissionState.ACTIVE
    started.world.cancel("s")
    started.passes(0)
    assert started.world.submission("s") is SubmissionState.CANCELLED
    assert started.asked[-1] == "cancel"


def test_a_timeout_of_the_submission_applies_only_to_the_start(site: Site) -> None:
    site.world.submit("far", policy={"timeout": "20s"})
    site.run()
    site.passes(3600)
    assert site.world.state("far") is State.RUNNING
    assert site.round("ending") is None


def test_a_failed_start_is_retried_with_growing_pauses(site: Site) -> None:
    site.world.submit("far")
    site.grid["run_breaks"] = 3
    for pause_s in (1, 2, 4):
        site.run()
        assert site.world.state("far") is State.WAITING
        site.world.tick(after_s=pause_s - 0.1)
        assert site.world.state("far") is State.WAITING
        site.world.tick(after_s=0.1)
    site.run()
    assert site.world.state("far") is State.RUNNING
    assert site.field("fails") == 3


# Polls.


def test_a_service_is_polled_at_the_interval_of_its_manager(started: Site) -> None:
    for _ in range(4):
        started.passes(POLL_S - 0.1)
        started.passes(0.1)
    assert started.asked == ["run", "check", "check", "check", "check"]


def test_a_repeated_status_is_written_to_the_output_once(started: Site) -> None:
    started.answer("running", *[Status("running", "at offset 7")] * 3, Status("running", "at offset 9"))
    for _ in range(5):
        started.passes(POLL_S)
    lines = [line.rpartition(" INFO ")[2] for line in started.round("output").splitlines()]
    assert lines == ["starting 1", "at offset 7", "at offset 9"]
    assert started.field("external_status") == "at offset 9"


@pytest.mark.parametrize("end", ["failed", "succeeded"])
def test_a_service_that_ends_has_failed_and_is_started_again(started: Site, end: str) -> None:
    started.answer(end)
    started.passes(POLL_S)
    assert started.world.state("far") is State.WAITING
    assert started.field("handle") is None
    started.world.tick(after_s=1)
    started.run()
    assert (started.world.state("far"), started.field("claim")) == (State.RUNNING, 2)
    assert started.asked == ["run", "check", "run"]


def test_failed_polls_are_counted_and_repeated_with_growing_pauses(started: Site) -> None:
    started.answer(*[ConnectionError("503")] * 3, "running")
    for pause_s in (POLL_S, 2 * POLL_S, 4 * POLL_S):
        started.passes(pause_s)
        assert started.world.state("far") is State.RUNNING
    assert (started.field("failed_polls"), started.asked[1:]) == (3, ["check"] * 3)
    assert "503" in started.field("external_status")
    started.passes(8 * POLL_S - 1)
    assert started.asked[1:] == ["check"] * 3, "the pauses grow"
    started.passes(1)
    assert (started.field("failed_polls"), started.field("external_status")) == (0, None)


def test_after_too_many_failed_polls_the_work_is_ended_and_retried(started: Site) -> None:
    started.answer(*[ConnectionError("503")] * 4)
    for _ in range(4):
        started.passes(8 * POLL_S)
    assert started.asked == ["run", *["check"] * 4, "cancel"]
    assert started.world.state("far") is State.WAITING
    assert "check() failed 4 times in a row" in started.round("error")


def test_an_invalid_status_ends_the_round_at_once(started: Site) -> None:
    started.answer("fine, thanks")
    started.passes(POLL_S)
    assert started.asked == ["run", "check", "cancel"]
    assert started.world.state("far") is State.WAITING


# Lost or repeated notifications, and the processes that poll.


def test_a_lost_notification_only_delays_a_poll(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    started.world.lose_messages()
    started.passes(POLL_S)
    assert started.asked == ["run"]
    started.passes(POLL_S)
    assert started.asked == ["run", "check"]


def test_notifications_do_not_pile_up_while_no_worker_serves_the_app(started: Site) -> None:
    for _ in range(600):
        started.world.tick(after_s=1)
    assert 3 <= len(started.world.looks) <= 8
    started.look()
    assert started.asked == ["run", "check"]


def test_a_repeated_notification_causes_one_poll(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    (hint,) = started.world.looks
    started.look(hint, hint)
    assert started.asked == ["run", "check"]


def test_two_concurrent_polls_record_one_end(started: Site) -> None:
    """The first poll waits for its answer longer than it may, so a second one is requested."""
    started.world.tick(after_s=POLL_S)
    (hint,) = started.world.looks
    started.world.looks.clear()

    def another_looks() -> None:
        started.grid["meanwhile"] = lambda: None
        started.world.tick(after_s=60)
        started.look()

    started.answer("failed", "failed")
    started.look(hint, meanwhile=another_looks)
    assert started.asked == ["run", "check", "check"]
    assert (started.field("fails"), started.field("claim")) == (1, 1)


def test_a_manager_that_never_answers_blocks_only_one_thread_of_a_process(started: Site) -> None:
    """The poll is requested again and again. Each request would block another thread."""
    started.world.tick(after_s=POLL_S)
    (hint,) = started.world.looks
    asked_before = len(started.asked)

    process = started.process([])

    def hang() -> None:
        started.grid["meanwhile"] = lambda: None
        for _ in range(3):
            started.world.tick(after_s=60)
            process.watch(started.world.looks[-1], Delivered())

    started.grid["meanwhile"] = hang
    process.watch(hint, Delivered())
    assert len(started.asked) == asked_before + 1


def test_a_poll_that_was_taken_and_never_made_is_repeated(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    known = started.world.known("far")
    taken = started.world.ledger.transact(lambda tx: external_work.take_announced(tx, "far", [known.id]))
    assert [each.name for each in taken] == [known.name]
    started.passes(external_work.TERM_S - 1)
    assert started.asked == ["run"]
    started.passes(1)
    assert started.asked == ["run", "check"]


def test_a_draining_worker_gives_a_poll_back(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    started.holdings.drain()
    assert started.look().was_given_back
    assert started.asked == ["run"]


def test_a_service_is_not_polled_while_its_app_is_missing(started: Site) -> None:
    catalogue, started.world.catalogue = started.world.catalogue, catalogue_of({})
    started.passes(POLL_S)
    assert started.asked == ["run"]
    started.world.catalogue = catalogue
    started.passes(20)
    assert started.asked == ["run", "check"]


# Pauses between starts.


def _fail_after(site: Site, seconds: float) -> float:
    """Let the service fail after this time and start again. Return the pause in seconds before the start."""
    site.world.tick(after_s=seconds)
    site.answer("failed")
    site.look()
    assert site.world.state("far") is State.WAITING
    pause_s = (site.field("not_before") - site.world.now).total_seconds()
    site.world.tick(after_s=pause_s)
    site.run()
    return float(pause_s)


def test_pauses_between_starts_grow_up_to_five_minutes(started: Site) -> None:
    assert [_fail_after(started, POLL_S) for _ in range(11)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_a_service_that_fails_once_a_day_always_restarts_after_one_second(started: Site) -> None:
    assert [_fail_after(started, 86_400) for _ in range(40)] == [1] * 40
    assert started.field("fails") == 40


def test_a_long_round_resets_the_pause(started: Site) -> None:
    assert [_fail_after(started, seconds) for seconds in (5, 5, 301, 5)] == [1, 2, 1, 2]


def test_a_failure_after_a_long_round_does_not_use_up_max_fails(site: Site) -> None:
    site.world.submit("far", id="s", policy={"max_fails": 1, "retry": {"rule": "fixed", "seconds": 3}})
    site.run()
    assert [_fail_after(site, 60) for _ in range(4)] == [3] * 4
    site.world.tick(after_s=9.5)
    site.answer("failed")
    site.look()
    assert site.world.state("far") is State.FAILED
    assert site.world.submission("s") is SubmissionState.FAILED


# Jobs that depend on a service.


def test_a_dependent_job_waits_for_the_start_of_a_service_only(site: Site) -> None:
    site.world.submit("after")
    site.grid["run_breaks"] = 1
    site.run()
    assert site.world.state("after") is State.WAITING, "nothing was started"
    site.world.tick(after_s=1)
    assert site.world.state("after") is State.WAITING
    site.run()
    assert site.world.state("after") is State.READY
    site.world.finish("after")
    assert site.world.states() == {"far": State.RUNNING, "after": State.SUCCEEDED}


def test_a_dependent_job_planned_during_the_start_is_released_by_it(site: Site) -> None:
    site.world.submit("far")
    seen: list[State] = []

    def plan() -> None:
        site.world.submit("after")
        seen.append(site.world.state("after"))

    site.grid["meanwhile"] = plan
    site.run()
    assert seen == [State.WAITING]
    assert site.world.state("after") is State.READY


def test_a_job_that_depends_on_a_running_service_is_ready_at_once(started: Site) -> None:
    started.world.submit("after")
    assert started.world.state("after") is State.READY
