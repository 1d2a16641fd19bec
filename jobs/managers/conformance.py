"""What every job manager has to promise, as tests for pytest. They need no ledger, no broker and no worker.

    from sluice.jobs.managers.conformance import Conformance, sample

    class TestGrid(Conformance):
        manager = Grid

        def brief_job(self):   return sample("brief", kwargs={"seconds": 1})
        def endless_job(self): return sample("endless", kwargs={"seconds": 10**6})
        def failing_job(self): return sample("failing", kwargs={"seconds": -1})

Work is started for real, wherever the manager starts it, and ended by it. Each test uses a token of its own.

Handles are told to lead to the same work where they are equal. Where that does not tell (a handle may be the token
itself), say so by ``same_work``, or count by ``started`` what the place has been given.
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
    """A job as its manager would get it, under a token that no other has."""
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
    """To be subclassed, as a class whose name begins with ``Test``."""

    manager: type[ManagesJobs]
    #: How long work may take to show what it is about to: an end, or that it was cancelled.
    within_s: float = 60.0
    #: The pause between two looks; None: what the manager says.
    poll_s: float | None = None

    def brief_job(self) -> Claimed:
        """Work that soon succeeds."""
        raise NotImplementedError("brief_job() says of which job the work soon succeeds")

    def endless_job(self) -> Claimed:
        """Work that is still running when all tests are over."""
        raise NotImplementedError("endless_job() says of which job the work does not end by itself")

    def failing_job(self) -> Claimed:
        """Work that soon fails."""
        raise NotImplementedError("failing_job() says of which job the work soon fails")

    def same_work(self, one: JSON, other: JSON) -> bool:
        """Whether two handles lead to the same work."""
        return bool(one == other)

    def started(self, job: Claimed) -> int | None:  # noqa: ARG002  # For those who override it.
        """How often work has been started under this job's token; None where that cannot be counted."""
        return None

    def unknown_handle(self, handle: JSON) -> JSON:
        """What looks like this handle, and leads nowhere."""
        return _altered(handle)

    # The promises.

    def test_it_is_a_job_manager(self) -> None:
        as_manager(self.manager, path_of(self.manager))

    def test_a_handle_is_json_and_leads_to_the_work(self) -> None:
        with self._trial() as trial:
            handle = trial.run(self.endless_job())
            insist(trial.stage(handle) is Stage.RUNNING, "work that does not end is not running")

    def test_a_new_manager_in_a_new_process_finds_the_work_by_its_handle(self) -> None:
        with self._trial() as trial:
            endless, brief = trial.run(self.endless_job()), trial.run(self.brief_job())
            trial.ends(brief, Stage.SUCCEEDED)
            insist(trial.stage_apart(endless) is Stage.RUNNING, "another process does not see it running")
            insist(trial.stage_apart(brief) is Stage.SUCCEEDED, "another process does not see how it ended")

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
            trial.cancel(handle)  # Which is no error, and changes nothing.
            insist(trial.stage(handle) is Stage.SUCCEEDED, "asked again, it does not say that it succeeded")

    def test_work_that_failed_says_why_and_goes_on_saying_so(self) -> None:
        with self._trial() as trial:
            handle = trial.run(self.failing_job())
            status = trial.ends(handle, Stage.FAILED)
            insist(status.text.strip() != "", "it failed and gave no reason")
            trial.cancel(handle)
            insist(trial.stage(handle) is Stage.FAILED, "asked again, it does not say that it failed")

    def test_cancelling_ends_the_work_and_may_be_said_twice(self) -> None:
        job = self.endless_job()
        with self._trial() as trial:
            handle = trial.run(job)
            trial.cancel(handle)
            trial.is_over(handle)
            trial.cancel(handle)
            anew = trial.run(replace(job, claim=2))
            insist(
                trial.stage(anew) is Stage.RUNNING, "wanted anew after it was cancelled, it is not running"
            )

    def test_a_retry_starts_anew(self) -> None:
        """A manager that found the failed work again would fail in every round."""
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
            insist(not self.same_work(handle, unknown), "unknown_handle() gave a handle that leads somewhere")
            stage = trial.stage_unless_it_raises(unknown)
            insist(stage in {None, Stage.FAILED}, f"of what it never started it says {stage}")

    def _is_found_again(self, trial: Trial, job: Claimed, first: JSON) -> None:
        """``run`` by the next claim, which knows the token and not the handle, comes upon the same work."""
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
    """The same shape, and every text and number in it another."""
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
