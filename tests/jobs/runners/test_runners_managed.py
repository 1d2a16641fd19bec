"""External work: it is started once, found again, and ended only by the claim that owns it."""

import pytest

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.external_work import Status, WorkOwner
from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners import external
from tests.jobs.runners.runner_bench import Bench, error_of, managed_app
from tests.jobs.runners.scripted_grid import Place, Tie


def _run(bench: Bench, place: Place, tie: Tie | None = None, *, timeout_s: float | None = None) -> Outcome:
    app = managed_app(place.grid, Policy(timeout_s=timeout_s))
    return bench.run(bench.assign(app), attachment=tie)


@pytest.fixture(autouse=True)
def _no_pause_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "POLL_S", 0.0)


# Starting, finding again, and the end.


def test_work_is_started_stored_and_polled_until_it_ends(bench: Bench) -> None:
    place, tie = Place("running", "running", "succeeded"), Tie()
    assert _run(bench, place, tie).ending is Ending.DONE
    assert place.calls == ["run", "check", "check", "check"]
    assert tie.kept == ["w1"]
    assert len(place.asked[0][1]) == 32, "it is started under the job's token"


def test_the_handle_is_stored_before_the_first_poll(bench: Bench) -> None:
    place, tie = Place("succeeded"), Tie()
    place.before_check = lambda: place.asked.append(("kept", *tie.kept))
    _run(bench, place, tie)
    assert place.calls == ["run", "check", "kept"]
    assert place.asked[-1] == ("kept", "w1")


def test_work_that_an_earlier_claim_started_is_found_and_not_started_again(bench: Bench) -> None:
    place, tie = Place("running", "succeeded"), Tie(handle={"pod": 7})
    outcome = _run(bench, place, tie)
    assert outcome.ending is Ending.DONE
    assert place.asked == [("check", {"pod": 7}), ("check", {"pod": 7})]
    assert 'found the work that an earlier claim started: {"pod":7}' in outcome.output


def test_a_handle_is_converted_to_json_before_its_first_use(bench: Bench) -> None:
    place, tie = Place("succeeded", handle=("pod", {1: None})), Tie()
    _run(bench, place, tie)
    assert place.asked[-1] == ("check", ["pod", {"1": None}])
    assert tie.kept == [["pod", {"1": None}]]


def test_partitions_that_the_work_has_made_are_acknowledged_once(bench: Bench) -> None:
    days = ("2024-04-01", "2024-04-02", "2024-04-03")
    place = Place(
        Status("running", done=["2024-03-31", "2024-04-01"]),
        Status("running", done=["2024-03-31", "2024-04-01", "2024-04-02"]),
        Status("failed", "out of disk", done=["2024-04-02"]),
    )
    told: list[str] = []
    step = bench.assign(managed_app(place.grid), span=(days[0], days[-1]), partitions=days)
    outcome = bench.run(step, attachment=Tie(), acknowledge=told.append)
    assert outcome.ending is Ending.ERROR
    assert told == ["2024-04-01", "2024-04-02"]


def test_failed_work_is_the_jobs_error(bench: Bench) -> None:
    place = Place(Status("failed", "out of memory on node 3"))
    assert error_of(_run(bench, place, Tie())) == "out of memory on node 3"
    assert "cancel" not in place.calls
    assert "gave no reason" in error_of(_run(bench, Place("failed"), Tie()))


def test_a_repeated_status_text_is_logged_once(bench: Bench) -> None:
    said = Status("running", "step 1", progress=(1, 3))
    outcome = _run(bench, Place(said, said, Status("succeeded", "all done", progress=(3, 3))), Tie())
    assert [line.rpartition(" INFO ")[2] for line in outcome.output.splitlines()] == ["step 1", "all done"]
    assert bench.progress == [(1, 3), (1, 3), (3, 3)]


def test_log_lines_of_run_are_in_the_output(bench: Bench) -> None:
    def start(job: Job) -> str:
        job.log.info("submitting %s for %s", job.key, job.ids["client_id"])
        return "w1"

    assert "submitting 20140101_7 for 7" in _run(bench, Place("succeeded", handle=start), Tie()).output


def test_the_methods_of_a_manager_may_be_async(bench: Bench) -> None:
    class Grid:
        poll_s = 0.01

        async def run(self, job: Job) -> str:
            return "w1"

        async def check(self, handle: str) -> str:
            return "succeeded"

        async def cancel(self, handle: str) -> None: ...

    assert bench.run(bench.assign(managed_app(Grid)), attachment=Tie()).ending is Ending.DONE


# Errors of user code.


def test_an_exception_of_run_is_reported_with_the_frames_of_user_code_only(bench: Bench) -> None:
    for error in (ValueError("no quota"), SystemExit(3), KeyboardInterrupt()):
        place = Place(handle=error)
        told = error_of(_run(bench, place, Tie()))
        assert told.startswith(type(error).__name__)
        assert "jobs/runners/external.py" not in told
        assert place.calls == ["run"]


def test_a_manager_that_cannot_be_created_is_an_error(bench: Bench) -> None:
    class Grid:
        def __init__(self) -> None:
            raise OSError("no credentials")

    assert "no credentials" in error_of(bench.run(bench.assign(managed_app(Grid)), attachment=Tie()))


@pytest.mark.parametrize("poll_s", [0, -1, "5s", True, float("inf"), float("nan"), None])
def test_poll_s_must_be_a_positive_number_of_seconds(bench: Bench, poll_s: object) -> None:
    place = Place("succeeded")
    grid = type("Grid", (place.grid,), {"poll_s": poll_s})
    outcome = bench.run(bench.assign(managed_app(grid)), attachment=Tie())
    assert "it takes a number of seconds above 0" in error_of(outcome)
    assert place.calls == []


def test_none_is_not_a_handle(bench: Bench) -> None:
    assert "returned no handle" in error_of(_run(bench, Place(handle=None), Tie()))


@pytest.mark.parametrize(
    ("handle", "reason"),
    [
        (object(), "it is no JSON value"),
        ("\ud800", "it is no JSON value"),
        ("x" * 70_000, "the limit is 65,536"),
        ("a\0b", "NUL"),
        (float("nan"), "it is null"),
    ],
)
def test_work_with_a_handle_that_cannot_be_stored_is_ended(bench: Bench, handle: object, reason: str) -> None:
    place, tie = Place(handle=handle), Tie()
    assert reason in error_of(_run(bench, place, tie))
    assert place.calls == ["run", "cancel"]
    assert place.asked[1][1] is handle
    assert tie.kept == []


def test_some_consecutive_errors_of_check_are_tolerated(bench: Bench) -> None:
    hiccups = [ConnectionError("503")] * external.FAILED_POLLS_MAX
    place = Place(*hiccups, "running", *hiccups, "succeeded")
    outcome = _run(bench, place, Tie())
    assert outcome.ending is Ending.DONE
    assert outcome.output.count("WARNING check() failed and is called again: ConnectionError: 503") == 6
    assert "cancel" not in place.calls


def test_too_many_consecutive_errors_of_check_fail_the_job_and_end_the_work(bench: Bench) -> None:
    place = Place(ConnectionError("503"))
    told = error_of(_run(bench, place, Tie()))
    assert told.startswith("check() failed 4 times in a row: ConnectionError: 503")
    assert place.calls == ["run", *["check"] * 4, "cancel"]


def test_work_of_another_claim_is_not_ended_if_check_fails(bench: Bench) -> None:
    place = Place(ConnectionError("no route"))
    assert "check() failed 4 times" in error_of(_run(bench, place, Tie(keeper=WorkOwner.ANOTHER)))
    assert "cancel" not in place.calls


def test_an_invalid_status_fails_the_job_at_once_and_ends_the_work(bench: Bench) -> None:
    place = Place("finished")
    assert "The result of check() cannot be used: 'finished' is no status" in error_of(
        _run(bench, place, Tie())
    )
    assert place.calls == ["run", "check", "cancel"]


def test_there_is_no_transaction(bench: Bench) -> None:
    def start(job: Job) -> str:
        with pytest.raises(BadRequest, match="not available"):
            job.transaction()
        return "w1"

    assert _run(bench, Place("succeeded", handle=start), Tie()).ending is Ending.DONE


# Ownership of the work when the run must end.


def test_work_over_its_timeout_is_ended(bench: Bench) -> None:
    place, tie = Place("running"), Tie()
    outcome = _run(bench, place, tie, timeout_s=0.05)
    assert (outcome.ending, outcome.error) == (Ending.TIMED_OUT, "It ran over its timeout of 0.05 s.")
    assert place.asked[-1] == ("cancel", "w1")
    assert tie.forgotten == [], "the outcome forgets it"


def test_work_over_its_timeout_is_left_alone_if_another_claim_owns_it(bench: Bench) -> None:
    place = Place("running")
    outcome = _run(bench, place, Tie(keeper=WorkOwner.ANOTHER), timeout_s=0.05)
    assert outcome.ending is Ending.TIMED_OUT
    assert "cancel" not in place.calls


@pytest.mark.parametrize("keeper", [WorkOwner.OURS, WorkOwner.ANOTHER])
def test_a_worker_that_leaves_or_lost_its_claim_leaves_the_work_running(
    bench: Bench, keeper: WorkOwner
) -> None:
    place = Place("running")
    place.before_check = bench.stop.set
    outcome = _run(bench, place, Tie(keeper=keeper))
    assert outcome.ending is Ending.HANDED_BACK
    assert 'The work that it started still runs: "w1"' in str(outcome.error)
    assert place.calls == ["run", "check"]


def test_work_that_no_claim_owns_is_ended_and_its_handle_is_forgotten(bench: Bench) -> None:
    place, tie = Place("running"), Tie(keeper=WorkOwner.NONE)
    place.before_check = bench.stop.set
    assert _run(bench, place, tie).ending is Ending.HANDED_BACK
    assert place.calls == ["run", "check", "cancel"]
    assert tie.forgotten == ["w1"]


@pytest.mark.parametrize(
    ("keeper", "calls"), [(WorkOwner.NONE, ["run", "cancel"]), (WorkOwner.ANOTHER, ["run"])]
)
def test_a_claim_lost_during_the_start_ends_its_work_unless_another_owns_it(
    bench: Bench, keeper: WorkOwner, calls: list[str]
) -> None:
    place = Place("running")
    assert _run(bench, place, Tie(keeper=keeper, accepts=False)).ending is Ending.HANDED_BACK
    assert place.calls == calls


def test_a_run_that_is_stopped_before_it_began_starts_nothing(bench: Bench) -> None:
    bench.stop.set()
    place = Place("running")
    assert _run(bench, place, Tie()).ending is Ending.HANDED_BACK
    assert place.calls == []


def test_a_start_that_reacts_to_a_stop_hands_the_job_back(bench: Bench) -> None:
    def start(job: Job) -> None:
        bench.stop.set()
        assert job.cancelled

    assert _run(bench, Place(handle=start), Tie()).ending is Ending.HANDED_BACK


def test_work_that_has_ended_while_the_worker_leaves_is_done(bench: Bench) -> None:
    place = Place("succeeded")
    place.before_check = bench.stop.set
    assert _run(bench, place, Tie()).ending is Ending.DONE


def test_a_failed_cancel_is_tried_again(bench: Bench) -> None:
    place, tie = Place("running", refuse_cancel=2), Tie(keeper=WorkOwner.NONE)
    place.before_check = bench.stop.set
    _run(bench, place, tie)
    assert place.calls.count("cancel") == 3
    assert tie.forgotten == ["w1"]


def test_work_that_cannot_be_ended_is_reported_and_its_handle_is_kept(bench: Bench) -> None:
    place, tie = Place("running", refuse_cancel=99), Tie(keeper=WorkOwner.NONE)
    place.before_check = bench.stop.set
    outcome = _run(bench, place, tie)
    assert "cancel() failed, so the work may still run: ConnectionError: the grid does not answer" in str(
        outcome.error
    )
    assert (place.calls.count("cancel"), tie.forgotten) == (external.CANCEL_TRIES, [])
    assert tie.bequeathed == ["w1"]


def test_without_a_ledger_an_interrupted_run_ends_its_work(bench: Bench) -> None:
    place = Place("running")
    place.before_check = bench.stop.set
    assert _run(bench, place).ending is Ending.HANDED_BACK
    assert place.calls == ["run", "check", "cancel"]
