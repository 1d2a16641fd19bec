"""Long-running services. A run starts the service and leaves it. Later polls detect its errors and its end."""

import pytest
from msgspec.structs import replace

from sluice.jobs.model.external_work import Status, WorkOwner
from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.runners import external
from sluice.jobs.runners.external import PollResult
from tests.jobs.runners.runner_bench import Bench, error_of, managed_app
from tests.jobs.runners.scripted_grid import Place, Tie

NAME = JobName("etl", "20140101_7")


@pytest.fixture(autouse=True)
def _no_pause_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "POLL_S", 0.0)


def _run(bench: Bench, place: Place, tie: Tie | None) -> Outcome:
    app = replace(managed_app(place.grid), unbounded=True)
    return bench.run(bench.assign(app), attachment=tie)


def _look(place: Place, *, failed_polls: int = 0) -> PollResult:
    return external.look(place.grid, NAME, "w1", failed_polls=failed_polls)


def _error(look: PollResult) -> str:
    assert look.outcome is not None
    return error_of(look.outcome)


# Runs.


def test_a_run_starts_the_service_and_leaves_it_with_its_output(bench: Bench) -> None:
    def start(job: Job) -> str:
        job.log.info("starting %s", job.key)
        return "w1"

    place, tie = Place("running", handle=start), Tie()
    assert _run(bench, place, tie).ending is Ending.DETACHED
    assert (place.calls, tie.kept) == (["run"], ["w1"])
    ((every_s, said),) = tie.left
    assert every_s == 0.01
    assert "starting 20140101_7" in said


def test_a_service_that_an_earlier_claim_started_is_not_started_again(bench: Bench) -> None:
    place, tie = Place("running"), Tie(handle="w7")
    assert _run(bench, place, tie).ending is Ending.DETACHED
    assert (place.calls, tie.kept, len(tie.left)) == ([], ["w7"], 1)


def test_a_lost_claim_ends_the_service_if_no_other_claim_owns_it(bench: Bench) -> None:
    place, tie = Place("running"), Tie(accepts=False, keeper=WorkOwner.NONE)
    assert _run(bench, place, tie).ending is Ending.HANDED_BACK
    assert (place.calls, tie.forgotten) == (["run", "cancel"], ["w1"])


def test_without_a_ledger_the_run_itself_polls_the_service(bench: Bench) -> None:
    place = Place("running", "running", Status("failed", "out of memory"))
    assert error_of(_run(bench, place, None)) == "out of memory"
    assert place.calls == ["run", "check", "check", "check"]


# Polls.


def test_a_poll_returns_the_status_text_and_the_time_until_the_next_poll() -> None:
    look = _look(Place(Status("running", "at offset 7")))
    assert (look.outcome, look.missed, look.poll_s, look.external_status) == (
        None,
        False,
        0.01,
        "at offset 7",
    )
    assert look.line.endswith(" INFO at offset 7\n")


def test_a_service_that_ends_has_failed_with_any_status() -> None:
    assert _error(_look(Place(Status("failed", "out of memory")))) == "out of memory"
    assert "ended by itself" in _error(_look(Place(Status("succeeded", "all done"))))


def test_some_failed_polls_are_tolerated_and_one_too_many_ends_the_service() -> None:
    place = Place(ConnectionError("503"))
    look = _look(place, failed_polls=2)
    assert (look.outcome, look.missed) == (None, True)
    assert "503" in (look.external_status or "")
    assert "check() failed 4 times in a row: ConnectionError: 503" in _error(_look(place, failed_polls=3))
    assert place.calls == ["check", "check", "cancel"]


def test_a_manager_that_cannot_be_created_counts_as_a_failed_poll() -> None:
    class Broken:
        def __init__(self) -> None:
            raise SystemExit("no settings")

    look = external.look(Broken, NAME, "w1", failed_polls=0)  # type: ignore[arg-type] # Its methods are never called.
    assert (look.outcome, look.missed) == (None, True)


def test_an_invalid_status_ends_the_service_at_once() -> None:
    place = Place("fine, thanks")
    assert "cannot be used" in _error(_look(place))
    assert place.calls == ["check", "cancel"]


def test_ending_a_service_returns_the_error_if_that_fails() -> None:
    assert external.end(Place().grid, "w1") is None
    assert "cancel() failed" in str(external.end(Place(refuse_cancel=1).grid, "w1"))
