"""Tests of the conformance tests: each detects a manager that violates its requirement."""

import re
from pathlib import Path

import pytest

from sluice.jobs.managers.conformance import Conformance, sample
from sluice.jobs.model.external_work import ManagesJobs
from tests.jobs.managers import broken
from tests.jobs.managers.broken import PLACE, Promises

A_MANAGER = "test_it_is_a_job_manager"
A_HANDLE = "test_a_handle_is_json_and_leads_to_the_work"
A_NEW_PROCESS = "test_a_new_manager_in_a_new_process_finds_the_work_by_its_handle"
OUTLIVES = "test_the_work_outlives_a_killed_worker_and_is_found_by_its_token"
ONCE = "test_work_that_is_alive_under_the_token_is_not_started_twice"
SUCCEEDED = "test_work_that_succeeded_goes_on_saying_so"
FAILED = "test_work_that_failed_says_why_and_goes_on_saying_so"
CANCELLED = "test_cancelling_ends_the_work_and_may_be_said_twice"
ANEW = "test_a_retry_starts_anew"
UNKNOWN = "test_what_it_never_started_is_not_running"
ALL = (A_MANAGER, A_HANDLE, A_NEW_PROCESS, OUTLIVES, ONCE, SUCCEEDED, FAILED, CANCELLED, ANEW, UNKNOWN)


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, str(tmp_path))


def _hold(manager: type[ManagesJobs], promise: str, within_s: float = 5.0) -> None:
    promises = Promises()
    promises.manager = manager
    promises.within_s = within_s
    getattr(promises, promise)()


def test_the_constants_list_all_conformance_tests() -> None:
    assert {name for name in dir(Conformance) if name.startswith("test_")} == set(ALL)


@pytest.mark.parametrize("promise", ALL)
@pytest.mark.parametrize("manager", [broken.Sound, broken.Asynchronous])
def test_a_correct_manager_passes_all_conformance_tests(manager: type[ManagesJobs], promise: str) -> None:
    _hold(manager, promise)


@pytest.mark.parametrize(
    ("manager", "promise", "complaint"),
    [
        (broken.GivesNoHandle, A_HANDLE, "returned no handle"),
        (broken.GivesAnObject, A_HANDLE, "is no JSON value"),
        (broken.InventsWords, A_HANDLE, "'queued' is no status"),
        (broken.Remembers, A_NEW_PROCESS, "check() in another process does not report it as running"),
        (broken.KeepsItsChildren, OUTLIVES, "did not outlive the process"),
        (broken.NeverLooks, OUTLIVES, "it was started twice"),
        (broken.NeverLooks, ONCE, "it was started twice"),
        (broken.CallsAllByOneName, ONCE, "started 2 times under one token"),
        (broken.ForgetsEnds, SUCCEEDED, "a repeated check() does not report that it succeeded"),
        (broken.CancelsWhatIsOver, SUCCEEDED, "a repeated check() does not report that it succeeded"),
        (broken.ForgetsEnds, FAILED, "a repeated check() does not report that it failed"),
        (broken.GivesNoReason, FAILED, "gave no reason"),
        (broken.TakesTheCancelledForDone, CANCELLED, "it was cancelled and check() returned succeeded"),
        (broken.FindsWhatIsOver, CANCELLED, "started again after it was cancelled, it is not running"),
        (broken.FindsWhatIsOver, ANEW, "it has not succeeded but failed: it was not to be"),
        (broken.TakesTheUnknownForRunning, UNKNOWN, "check() of work that it never started returned running"),
    ],
)
def test_a_violated_requirement_is_detected(manager: type[ManagesJobs], promise: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(complaint)):
        _hold(manager, promise)


def test_work_that_runs_on_after_its_cancellation_is_detected() -> None:
    with pytest.raises(AssertionError, match=r"it was cancelled and still runs after 0\.1 s"):
        _hold(broken.CannotCancel, CANCELLED, within_s=0.1)


def test_a_manager_with_a_required_constructor_argument_is_detected() -> None:
    with pytest.raises(ValueError, match="cannot be created without arguments"):
        _hold(broken.TakesArguments, A_MANAGER)


@pytest.mark.parametrize("promise", [CANCELLED, SUCCEEDED])
def test_an_exception_in_cancel_is_raised_by_the_conformance_test(promise: str) -> None:
    with pytest.raises(RuntimeError, match="no such work"):
        _hold(broken.CancelsOnce, promise)


def test_a_manager_that_other_processes_cannot_import_is_refused() -> None:
    class Inside(broken.Sound):
        """Class that can only be accessed inside this function."""

    with pytest.raises(ValueError, match="put the class at the top of its module"):
        _hold(Inside, OUTLIVES)


def test_a_missing_sample_job_raises_an_error_that_describes_it() -> None:
    with pytest.raises(NotImplementedError, match="does not end by itself"):
        Conformance().endless_job()


def test_each_sample_job_has_its_own_token() -> None:
    assert sample("1").token != sample("1").token
