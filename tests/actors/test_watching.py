"""Work that goes on until it is stopped: started, left, looked at, started again, and stopped."""

import pytest

from sluice.jobs.managed import Status
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
from sluice.ledger import watching
from tests.actors.unending import Delivered, Site
from tests.world import LEASE_S, catalogue_of

#: As often as the grid wants to be asked.
POLL_S = 5


# Started, and left.


def test_work_that_is_started_holds_no_worker_and_is_still_the_jobs(started: Site) -> None:
    assert started.world.state("far") is State.RUNNING
    assert (started.field("worker"), started.field("handle"), started.field("claim")) == (None, "w1", 1)
    assert started.holdings.known() == []
    assert started.asked == ["run"]
    assert "starting 1" in started.round("output")


def test_it_outlives_the_lease_of_whoever_started_it(started: Site) -> None:
    started.passes(10 * LEASE_S)
    assert started.world.history("far") == ["waiting", "ready", "running"]
    assert started.asked == ["run", "check"]


def test_its_submission_goes_on_as_long_as_it_does(started: Site) -> None:
    for _ in range(5):
        started.passes(POLL_S)
    assert started.world.submission("s") is SubmissionState.ACTIVE
    started.world.cancel("s")
    started.passes(0)
    assert started.world.submission("s") is SubmissionState.CANCELLED
    assert started.asked[-1] == "cancel"


def test_a_timeout_of_the_submission_is_for_the_start_alone(site: Site) -> None:
    site.world.submit("far", policy={"timeout": "20s"})
    site.run()
    site.passes(3600)
    assert site.world.state("far") is State.RUNNING
    assert site.round("ending") is None


def test_a_run_that_raises_is_tried_again_with_growing_pauses(site: Site) -> None:
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


# Looked at.


def test_it_is_looked_at_as_often_as_its_manager_says(started: Site) -> None:
    for _ in range(4):
        started.passes(POLL_S - 0.1)
        started.passes(0.1)
    assert started.asked == ["run", "check", "check", "check", "check"]


def test_what_looks_hear_is_written_down_once(started: Site) -> None:
    started.answer("running", *[Status("running", "at offset 7")] * 3, Status("running", "at offset 9"))
    for _ in range(5):
        started.passes(POLL_S)
    lines = [line.rpartition(" INFO ")[2] for line in started.round("output").splitlines()]
    assert lines == ["starting 1", "at offset 7", "at offset 9"]
    assert started.field("said") == "at offset 9"


@pytest.mark.parametrize("end", ["failed", "succeeded"])
def test_work_that_ends_has_failed_and_is_started_again(started: Site, end: str) -> None:
    started.answer(end)
    started.passes(POLL_S)
    assert started.world.state("far") is State.WAITING
    assert started.field("handle") is None
    started.world.tick(after_s=1)
    started.run()
    assert (started.world.state("far"), started.field("claim")) == (State.RUNNING, 2)
    assert started.asked == ["run", "check", "run"]


def test_an_error_of_a_look_is_borne_whoever_looks(started: Site) -> None:
    started.answer(*[ConnectionError("503")] * 3, "running")
    for pause_s in (POLL_S, 2 * POLL_S, 4 * POLL_S):
        started.passes(pause_s)
        assert started.world.state("far") is State.RUNNING
    assert (started.field("misses"), started.asked[1:]) == (3, ["check"] * 3)
    assert "503" in started.field("said")
    started.passes(8 * POLL_S - 1)
    assert started.asked[1:] == ["check"] * 3, "the pauses grow"
    started.passes(1)
    assert (started.field("misses"), started.field("said")) == (0, None)


def test_after_too_many_errors_the_work_is_ended_and_begun_anew(started: Site) -> None:
    started.answer(*[ConnectionError("503")] * 4)
    for _ in range(4):
        started.passes(8 * POLL_S)
    assert started.asked == ["run", *["check"] * 4, "cancel"]
    assert started.world.state("far") is State.WAITING
    assert "check() failed 4 times in a row" in started.round("error")


def test_an_answer_that_cannot_be_used_is_an_end_at_once(started: Site) -> None:
    started.answer("fine, thanks")
    started.passes(POLL_S)
    assert started.asked == ["run", "check", "cancel"]
    assert started.world.state("far") is State.WAITING


# Hints that are lost or doubled, and whoever makes the look.


def test_a_lost_hint_costs_a_delay(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    started.world.lose_messages()
    started.passes(POLL_S)
    assert started.asked == ["run"]
    started.passes(POLL_S)
    assert started.asked == ["run", "check"]


def test_hints_do_not_pile_up_while_nobody_serves_the_app(started: Site) -> None:
    for _ in range(600):
        started.world.tick(after_s=1)
    assert 3 <= len(started.world.looks) <= 8
    started.look()
    assert started.asked == ["run", "check"]


def test_a_doubled_hint_makes_one_look(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    (hint,) = started.world.looks
    started.look(hint, hint)
    assert started.asked == ["run", "check"]


def test_two_looks_at_once_record_one_end(started: Site) -> None:
    """The second is sent while the first waits for an answer, for longer than it may."""
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


def test_a_manager_that_never_answers_holds_one_thread_of_a_process(started: Site) -> None:
    """It is asked for again and again, and each time that would take another."""
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


def test_a_look_that_dies_is_repeated(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    known = started.world.known("far")
    taken = started.world.ledger.transact(lambda tx: watching.take(tx, "far", [known.id]))
    assert [each.name for each in taken] == [known.name]
    started.passes(watching.TERM_S - 1)
    assert started.asked == ["run"]
    started.passes(1)
    assert started.asked == ["run", "check"]


def test_a_worker_that_is_leaving_does_not_look(started: Site) -> None:
    started.world.tick(after_s=POLL_S)
    started.holdings.drain()
    assert started.look().was_given_back
    assert started.asked == ["run"]


def test_work_of_an_app_that_has_left_the_definitions_waits_for_it_to_come_back(started: Site) -> None:
    catalogue, started.world.catalogue = started.world.catalogue, catalogue_of({})
    started.passes(POLL_S)
    assert started.asked == ["run"]
    started.world.catalogue = catalogue
    started.passes(20)
    assert started.asked == ["run", "check"]


# How often it is started again.


def _fail_after(site: Site, seconds: float) -> float:
    """It ends by itself after so long; how long it waits then."""
    site.world.tick(after_s=seconds)
    site.answer("failed")
    site.look()
    assert site.world.state("far") is State.WAITING
    pause_s = (site.field("not_before") - site.world.now).total_seconds()
    site.world.tick(after_s=pause_s)
    site.run()
    return float(pause_s)


def test_pauses_grow_up_to_five_minutes(started: Site) -> None:
    assert [_fail_after(started, POLL_S) for _ in range(11)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_what_fails_once_a_day_is_back_at_once_every_day(started: Site) -> None:
    assert [_fail_after(started, 86_400) for _ in range(40)] == [1] * 40
    assert started.field("fails") == 40


def test_a_healthy_round_begins_the_pauses_anew(started: Site) -> None:
    assert [_fail_after(started, seconds) for seconds in (5, 5, 301, 5)] == [1, 2, 1, 2]


def test_with_an_end_to_its_tries_only_those_in_a_row_count(site: Site) -> None:
    site.world.submit("far", id="s", policy={"max_fails": 1, "retry": {"rule": "fixed", "seconds": 3}})
    site.run()
    assert [_fail_after(site, 60) for _ in range(4)] == [3] * 4
    site.world.tick(after_s=9.5)
    site.answer("failed")
    site.look()
    assert site.world.state("far") is State.FAILED
    assert site.world.submission("s") is SubmissionState.FAILED


# Who needs it.


def test_who_needs_it_waits_until_it_is_started_and_not_for_its_end(site: Site) -> None:
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


def test_who_needs_it_is_planned_while_it_is_just_being_started(site: Site) -> None:
    site.world.submit("far")
    seen: list[State] = []

    def plan() -> None:
        site.world.submit("after")
        seen.append(site.world.state("after"))

    site.grid["meanwhile"] = plan
    site.run()
    assert seen == [State.WAITING]
    assert site.world.state("after") is State.READY


def test_who_needs_it_is_ready_at_once_where_it_runs(started: Site) -> None:
    started.world.submit("after")
    assert started.world.state("after") is State.READY
