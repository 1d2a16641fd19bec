"""Conformance tests for job managers.

The tests have the requirements for every job manager, and are run by pytest. They need no ledger, no broker and no
worker.

    from sluice.jobs.managers.conformance import Conformance, sample

    class TestGrid(Conformance):
        manager = Grid

        def brief_job(self):   return sample("brief", kwargs={"seconds": 1})
        def endless_job(self): return sample("endless", kwargs={"seconds": 10**6})
        def failing_job(self): return sample("failing", kwargs={"seconds": -1})

The tests start real work through the manager, and end it. Each test uses a token of its own. A ``Trial`` calls the
manager as a fleet of workers would, and checks the answers.

Two equal handles count as the same work. If that proves nothing (a handle may be the token itself), override
``same_work``, or count the started work in ``started``.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from sluice.jobs.catalogue.sources.functions import as_manager, path_of
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.managers.isolated_calls import ask_apart, job_of
from sluice.jobs.model.external_work import POLL_S, ManagesJobs, Stage, Status, read_status
from sluice.jobs.model.job import RunContext
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.runners.function.call import settled

T = TypeVar("T")
_LOG = logging.getLogger("sluice.conformance")


class Trial:
    """Calls of one test. Each call uses a new manager object, as in a fleet of workers."""

    def __init__(self, manager: type[ManagesJobs], *, within_s: float, poll_s: float | None) -> None:
        self._manager = manager
        self._within_s = within_s
        self._pause_s: float = poll_s or getattr(manager, "poll_s", None) or POLL_S
        self._handles: list[JSON] = []

    def run(self, job: RunContext) -> JSON:
        return self._kept(settled(self._manager().run(job_of(job))))

    def run_apart(self, job: RunContext) -> JSON:
        """Start the work in another process, which is killed as soon as it has the handle."""
        return self._kept(ask_apart(self._manager, "run", claimed=job, within_s=self._within_s))

    def stage(self, handle: JSON) -> Stage:
        return _read(settled(self._manager().check(handle))).stage

    def stage_unless_it_raises(self, handle: JSON) -> Stage | None:
        """Return the stage of a handle. For an unknown handle a manager may also raise; then None."""
        try:
            answer = settled(self._manager().check(handle))
        except Exception as error:
            _LOG.info("%r is unknown to the job manager: %s", handle, error)
            return None
        return _read(answer).stage

    def stage_apart(self, handle: JSON) -> Stage:
        return _read(ask_apart(self._manager, "check", handle=handle, within_s=self._within_s)).stage

    def cancel(self, handle: JSON) -> None:
        settled(self._manager().cancel(handle))

    def ends(self, handle: JSON, stage: Stage) -> Status:
        """Wait for the end and return its status, which must be this stage."""
        status = self._until(lambda: self._unless_running(handle), f"it has not {stage}")
        insist(status.stage is stage, f"it has not {stage} but {status.stage}: {status.text}")
        return status

    def is_over(self, handle: JSON) -> None:
        """Check that cancelled work ends. After that it must be failed or unknown."""

        def over() -> Stage | None:
            stage = self.stage_unless_it_raises(handle)
            return None if stage is Stage.RUNNING else stage or Stage.FAILED

        stage = self._until(over, "it was cancelled and still runs")
        insist(stage is Stage.FAILED, f"it was cancelled and check() returned {stage}")

    def clear_up(self) -> None:
        """End all work that the test has started. A failure to end it is logged, so that it hides no other failure."""
        for handle in self._handles:
            try:
                self.cancel(handle)
            except Exception as error:
                _LOG.warning("%r may still run: cancel() failed: %s", handle, error)

    def _kept(self, handle: Any) -> JSON:
        """Return the handle as the ledger would return it."""
        insist(handle is not None, "run() returned no handle")
        self._handles.append(handle)
        try:
            kept = msgspec.json.decode(msgspec.json.encode(handle))
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise AssertionError(f"the handle {handle!r} is no JSON value: {error}") from None
        self._handles[-1] = kept
        return kept

    def _unless_running(self, handle: JSON) -> Status | None:
        status = _read(settled(self._manager().check(handle)))
        return None if status.stage is Stage.RUNNING else status

    def _until(self, look: Callable[[], T | None], complaint: str) -> T:
        until = time.monotonic() + self._within_s
        while True:
            found = look()
            if found is not None:
                return found
            insist(time.monotonic() < until, f"{complaint} after {self._within_s:g} s")
            time.sleep(self._pause_s)


def insist(holds: bool, complaint: str) -> None:  # noqa: FBT001  # It reads as a sentence.
    if not holds:
        raise AssertionError(complaint)


def _read(answer: object) -> Status:
    try:
        return read_status(answer)
    except ValueError as fault:
        raise AssertionError(f"check() returned a value that is no status: {fault}") from None


def sample(
    key: str,
    *,
    app: str = "conformance",
    ids: Mapping[str, Value] | None = None,
    work_ids: tuple[int | str, ...] | None = None,
    span: tuple[str, str] | None = None,
    kwargs: Mapping[str, JSON] | None = None,
) -> RunContext:
    """Return a job as its manager would get it, with a unique token."""
    return RunContext(
        name=JobName(app, key),
        ids=ids or {},
        work_ids=work_ids,
        span=span,
        kwargs=kwargs or {},
        round=0,
        claim=1,
        token=uuid.uuid4().hex,
    )


class Conformance:
    """Base class of the tests. The name of a subclass begins with ``Test``."""

    manager: type[ManagesJobs]
    #: Maximum seconds until work must show its end or its cancellation.
    within_s: float = 60.0
    #: Seconds between two polls. Default: the manager's ``poll_s``.
    poll_s: float | None = None

    def brief_job(self) -> RunContext:
        """Return a job with work that soon succeeds."""
        raise NotImplementedError("override brief_job() to return a job with work that soon succeeds")

    def endless_job(self) -> RunContext:
        """Return a job with work that still runs when all tests have ended."""
        raise NotImplementedError(
            "override endless_job() to return a job with work that does not end by itself"
        )

    def failing_job(self) -> RunContext:
        """Return a job with work that soon fails."""
        raise NotImplementedError("override failing_job() to return a job with work that soon fails")

    def same_work(self, one: JSON, other: JSON) -> bool:
        """Return whether two handles identify the same work."""
        return bool(one == other)

    def started(self, job: RunContext) -> int | None:  # noqa: ARG002  # Overriding methods need the parameter.
        """Return how often work was started under this job's token. None if that cannot be counted."""
        return None

    def unknown_handle(self, handle: JSON) -> JSON:
        """Return a handle of the same form that identifies no work."""
        return _altered(handle)

    # Tests of the requirements.

    def test_it_is_a_job_manager(self) -> None:
        as_manager(self.manager, path_of(self.manager))

    def test_a_handle_is_json_and_leads_to_the_work(self) -> None:
        with self._trial() as trial:
            handle = trial.run(self.endless_job())
            insist(trial.stage(handle) is Stage.RUNNING, "check() does not report endless work as running")

    def test_a_new_manager_in_a_new_process_finds_the_work_by_its_handle(self) -> None:
        with self._trial() as trial:
            endless, brief = trial.run(self.endless_job()), trial.run(self.brief_job())
            trial.ends(brief, Stage.SUCCEEDED)
            insist(
                trial.stage_apart(endless) is Stage.RUNNING,
                "check() in another process does not report it as running",
            )
            insist(
                trial.stage_apart(brief) is Stage.SUCCEEDED,
                "check() in another process does not report that it succeeded",
            )

    def test_the_work_outlives_a_killed_worker_and_is_found_by_its_token(self) -> None:
        job = self.endless_job()
        with self._trial() as trial:
            first = trial.run_apart(job)
            insist(trial.stage(first) is Stage.RUNNING, "it did not outlive the process that started it")
            self._is_found_again(trial, job, first)

    def test_work_that_is_alive_under_the_token_is_not_started_twice(self) -> None:
        job = self.endless_job()
        with self._trial() as trial:
            self._is_found_again(trial, job, trial.run(job))

    def test_work_that_succeeded_goes_on_saying_so(self) -> None:
        with self._trial() as trial:
            handle = trial.run(self.brief_job())
            trial.ends(handle, Stage.SUCCEEDED)
            trial.cancel(handle)  # This is no error and changes nothing.
            insist(
                trial.stage(handle) is Stage.SUCCEEDED, "a repeated check() does not report that it succeeded"
            )

    def test_work_that_failed_says_why_and_goes_on_saying_so(self) -> None:
        with self._trial() as trial:
            handle = trial.run(self.failing_job())
            status = trial.ends(handle, Stage.FAILED)
            insist(status.text.strip() != "", "it failed and gave no reason")
            trial.cancel(handle)
            insist(trial.stage(handle) is Stage.FAILED, "a repeated check() does not report that it failed")

    def test_cancelling_ends_the_work_and_may_be_said_twice(self) -> None:
        job = self.endless_job()
        with self._trial() as trial:
            handle = trial.run(job)
            trial.cancel(handle)
            trial.is_over(handle)
            trial.cancel(handle)
            anew = trial.run(replace(job, claim=2))
            insist(
                trial.stage(anew) is Stage.RUNNING, "started again after it was cancelled, it is not running"
            )

    def test_a_retry_starts_anew(self) -> None:
        """Check that a retry starts new work. A manager that found the failed work again would fail in every round."""
        failing = self.failing_job()
        with self._trial() as trial:
            first = trial.run(failing)
            trial.ends(first, Stage.FAILED)
            mended = replace(self.brief_job(), token=failing.token, round=1, claim=2)
            trial.ends(trial.run(mended), Stage.SUCCEEDED)

    def test_what_it_never_started_is_not_running(self) -> None:
        with self._trial() as trial:
            handle = trial.run(self.brief_job())
            unknown = self.unknown_handle(handle)
            insist(not self.same_work(handle, unknown), "unknown_handle() returned a handle of existing work")
            stage = trial.stage_unless_it_raises(unknown)
            insist(stage in {None, Stage.FAILED}, f"check() of work that it never started returned {stage}")

    def _is_found_again(self, trial: Trial, job: RunContext, first: JSON) -> None:
        """Check that ``run`` by the next claim, which has the token but not the handle, finds the same work."""
        second = trial.run(replace(job, round=1, claim=2))
        insist(self.same_work(first, second), f"it was started twice: {first!r}, {second!r}")
        started = self.started(job)
        insist(started in {None, 1}, f"it was started {started} times under one token")

    @contextmanager
    def _trial(self) -> Iterator[Trial]:
        trial = Trial(self.manager, within_s=self.within_s, poll_s=self.poll_s)
        try:
            yield trial
        finally:
            trial.clear_up()


def _altered(handle: JSON) -> JSON:
    """Return a value of the same form with different texts and numbers."""
    match handle:
        case dict():
            return {name: _altered(value) for name, value in handle.items()}
        case list():
            return [_altered(value) for value in handle]
        case bool():
            return not handle
        case int() | float():
            return handle + 999_983
        case str():
            return f"{handle}-unknown"
    return handle
