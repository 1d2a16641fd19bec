"""Requirements for every job manager, as tests for pytest. They need no ledger, no broker and no worker.

    from sluice.jobs.managers.conformance import Conformance, sample

    class TestGrid(Conformance):
        manager = Grid

        def brief_job(self):   return sample("brief", kwargs={"seconds": 1})
        def endless_job(self): return sample("endless", kwargs={"seconds": 10**6})
        def failing_job(self): return sample("failing", kwargs={"seconds": -1})

The tests start real work through the manager, and end it. Each test uses a token of its own.

Two equal handles count as the same work. If that proves nothing (a handle may be the token itself), override
``same_work``, or count the started work in ``started``.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from sluice.jobs.catalogue.functions import path_of
from sluice.jobs.catalogue.managed import as_manager
from sluice.jobs.identifiers import Value
from sluice.jobs.job import Claimed
from sluice.jobs.managed import ManagesJobs, Stage
from sluice.jobs.managers.trial import Trial, insist
from sluice.jobs.ref import JobName
from sluice.jobs.submission import JSON


def sample(
    key: str,
    *,
    app: str = "conformance",
    ids: Mapping[str, Value] | None = None,
    work_ids: tuple[int | str, ...] | None = None,
    span: tuple[str, str] | None = None,
    kwargs: Mapping[str, JSON] | None = None,
) -> Claimed:
    """Return a job as its manager would get it, with a unique token."""
    return Claimed(
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

    def brief_job(self) -> Claimed:
        """Return a job with work that soon succeeds."""
        raise NotImplementedError("override brief_job() to return a job with work that soon succeeds")

    def endless_job(self) -> Claimed:
        """Return a job with work that still runs when all tests have ended."""
        raise NotImplementedError(
            "override endless_job() to return a job with work that does not end by itself"
        )

    def failing_job(self) -> Claimed:
        """Return a job with work that soon fails."""
        raise NotImplementedError("override failing_job() to return a job with work that soon fails")

    def same_work(self, one: JSON, other: JSON) -> bool:
        """Return whether two handles identify the same work."""
        return bool(one == other)

    def started(self, job: Claimed) -> int | None:  # noqa: ARG002  # Overriding methods need the parameter.
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

    def _is_found_again(self, trial: Trial, job: Claimed, first: JSON) -> None:
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
