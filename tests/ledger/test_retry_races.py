"""Races of the retry of a submission with every other operation on its jobs, stopped at each statement.

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


RACES = [
    _two_retries,
    _retries_of_two_submissions,
    _a_retry_and_a_cancellation,
    _a_retry_and_a_cancellation_of_the_other,
    _a_retry_and_a_rerun,
    _a_retry_and_the_judge,
    _a_retry_and_the_groomer,
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
