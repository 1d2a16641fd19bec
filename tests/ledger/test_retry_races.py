"""Races of retries of a submission, and of a job, with every other operation on the jobs, stopped at each statement.

In either order, no job runs more often than requested, and the state of the submission follows from its jobs.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from sluice.actors.planner import handlers
from sluice.actors.planner.retries import retry
from sluice.broker.messages import Message, Plan
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.ledger.races import Act, Acts, meet_and_finish

#: Upper limit of the number of statements of the acts in these races.
STATEMENTS_MAX = 80


class Retried(Acts):
    """World in which ``a`` has failed, and with it ``b`` of submission one and ``c`` of submission two."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.apps("a -> b, a -> c")
        self.one = self.world.submit("b", push="wanted")
        self.two = self.world.submit("c", push="wanted")
        self.world.finish("a", Ending.ERROR)

    def retry(self, submission: str) -> Act:
        """Retry a submission and plan it. A refused retry sends no messages."""

        def act(ledger: Ledger) -> list[Message]:
            try:
                retry(ledger, submission)
            except BadRequest:
                return []
            return [*handlers.plan(ledger, self.world.catalogue, Plan(submissions=(submission,)))]

        return act

    def retry_jobs(self, id: str = "selected") -> Act:
        """Retry the job ``a`` alone."""
        return self.plan("a", id=id, rerun="alone", push="wanted")


class Race(NamedTuple):
    """Two acts, the number of runs of ``a`` at the end, and the possible states of submission one."""

    acts: tuple[Act, Act]
    runs: set[int]
    ends: set[SubmissionState] = {SubmissionState.SUCCEEDED}  # noqa: RUF012 - it is never changed


def _two_retries(m: Retried) -> Race:
    return Race((m.retry(m.one), m.retry(m.one)), {2})


def _retries_of_two_submissions(m: Retried) -> Race:
    return Race((m.retry(m.one), m.retry(m.two)), {2})


def _a_retry_and_a_cancellation(m: Retried) -> Race:
    ends = {SubmissionState.SUCCEEDED, SubmissionState.CANCELLED}
    return Race((m.retry(m.one), m.cancel(m.one)), {1, 2}, ends)


def _a_retry_and_a_cancellation_of_the_other(m: Retried) -> Race:
    m.world.retry(m.two)
    return Race((m.retry(m.one), m.cancel(m.two)), {2})


def _a_retry_and_a_rerun(m: Retried) -> Race:
    """Retry, and rerun ``a``. It runs once more, for both."""
    return Race((m.retry(m.one), m.plan("a", rerun="job")), {2})


def _a_retry_and_the_judge(m: Retried) -> Race:
    m.world.retry(m.two)
    return Race((m.retry(m.one), m.judge(m.run("a"))), {2})


def _a_retry_and_the_groomer(m: Retried) -> Race:
    retry(m.world.ledger, m.two)
    return Race((m.retry(m.one), m.groom()), {2})


def _two_retries_of_a_job(m: Retried) -> Race:
    return Race((m.retry_jobs("selected"), m.retry_jobs("selected again")), {2})


def _a_retry_of_a_job_and_one_of_its_submission(m: Retried) -> Race:
    return Race((m.retry_jobs(), m.retry(m.one)), {2})


def _a_retry_of_a_job_and_a_cancellation(m: Retried) -> Race:
    """Cancel submission two while it becomes active again. Its jobs run for submission one, and for the new one."""
    return Race((m.retry_jobs(), m.cancel(m.two)), {2})


def _a_retry_of_a_job_and_a_rerun(m: Retried) -> Race:
    """Retry and rerun ``a``. If the rerun is first, the retry finds no failed job, and changes nothing."""
    ends = {SubmissionState.FAILED, SubmissionState.SUCCEEDED}
    return Race((m.retry_jobs(), m.plan("a", rerun="job")), {2}, ends)


def _a_retry_of_a_job_and_the_judge(m: Retried) -> Race:
    """Retry the job while it runs again for submission two, and ends. Submission one is active again only if the retry
    finds the job failed."""
    m.world.retry(m.two)
    ends = {SubmissionState.FAILED}
    return Race((m.retry_jobs(), m.judge(m.run("a"))), {2}, ends)


def _a_retry_of_a_job_and_the_groomer(m: Retried) -> Race:
    return Race((m.retry_jobs(), m.groom()), {2})


RACES = [
    _two_retries,
    _retries_of_two_submissions,
    _a_retry_and_a_cancellation,
    _a_retry_and_a_cancellation_of_the_other,
    _a_retry_and_a_rerun,
    _a_retry_and_the_judge,
    _a_retry_and_the_groomer,
    _two_retries_of_a_job,
    _a_retry_of_a_job_and_one_of_its_submission,
    _a_retry_of_a_job_and_a_cancellation,
    _a_retry_of_a_job_and_a_rerun,
    _a_retry_of_a_job_and_the_judge,
    _a_retry_of_a_job_and_the_groomer,
]


@pytest.mark.parametrize("arrange", RACES, ids=lambda arrange: arrange.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_retry_that_races_another_verb_runs_each_job_once(
    embedded_url: str, arrange: Callable[[Retried], Race], swapped: bool
) -> None:
    race: Race

    def acts(m: Retried) -> tuple[Act, Act]:
        nonlocal race
        race = arrange(m)
        return race.acts

    def finish(m: Retried) -> None:
        world = m.world
        world.worker = world.hire()
        for _ in range(4):
            for name in sorted(world.ready()):
                world.finish(name)
            world.tick()
        assert world.history("a").count(State.RUNNING) in race.runs
        assert world.submission(m.one) in race.ends
        assert world.submission(m.one) is not SubmissionState.SUCCEEDED or world.state("b") is State.SUCCEEDED

    meet_and_finish(lambda: Retried(embedded_url), acts, finish, swapped=swapped, most=STATEMENTS_MAX)


class TwoFailedParents(Acts):
    """World in which ``a`` and ``b`` have failed, and with them ``c``, which needs both. Their submission is active."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.apps("a -> c, b -> c")
        self.submission = self.world.submit("c", None, keys=["1", "2"])
        self.world.finish("a", Ending.ERROR)
        self.world.finish("b", Ending.ERROR)

    def retry_jobs(self, app: str) -> Act:
        return self.plan(app, rerun="alone", push="wanted")


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_retries_of_jobs_with_a_common_child_meet_without_a_deadlock(
    embedded_url: str, swapped: bool
) -> None:
    def finish(m: TwoFailedParents) -> None:
        assert m.world.ready() == {"a", "b", "a/2", "b/2"}
        for name in ("a", "b", "c", "a/2", "b/2", "c/2"):
            m.world.finish(name)
        assert m.world.submission(m.submission) is SubmissionState.SUCCEEDED

    meet_and_finish(
        lambda: TwoFailedParents(embedded_url),
        lambda m: (m.retry_jobs("a"), m.retry_jobs("b")),
        finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


class UnpropagatedEnd(Acts):
    """World in which ``c`` waits for ``a`` and ``b``. ``b`` has succeeded, and ``a`` is cancelled, of which ``c`` is
    not notified yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.apps("a -> c, b -> c")
        self.world.submit("c")
        self.world.finish("b")
        self.late = self.cancel_job("a")(self.world.ledger)


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_recount_and_a_propagation_to_the_same_job_meet_without_a_deadlock(
    embedded_url: str, swapped: bool
) -> None:
    def finish(m: UnpropagatedEnd) -> None:
        m.world.finish("b")
        assert m.world.state("c") is State.UPSTREAM_FAILED

    meet_and_finish(
        lambda: UnpropagatedEnd(embedded_url),
        lambda m: (m.plan("b", rerun="job", push="wanted"), m.handle(*m.late)),
        finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )
