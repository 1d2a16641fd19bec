"""Races of compensations with operations that end the saga, plan or judge it, or need its jobs.

Each is stopped at every statement.
"""

from collections.abc import Callable

import pytest

from sluice.broker.messages import Plan
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.races import Act, Acts, meet_and_finish
from tests.world import World

WORDS = {"job_id": "{x}", "bash_cmd": "true"}
APPS = {
    "book": WORDS | {"compensate": "unbook"},
    "pay": WORDS | {"depends_on": {"app_name": ["book"]}},
    "stay": WORDS | {"depends_on": {"app_name": ["book"]}},
    "unbook": WORDS,
}
STATEMENTS_MAX = 90


class Meeting(Acts):
    """Saga ``s``. Its first job has succeeded."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(APPS)
        self.world.submit("pay", id="s", mode="saga", push="wanted")
        self.world.finish("book")

    def plan_compensation(self) -> Act:
        return self.handle(Plan(submissions=("s/compensation",)))


def _meet(
    url: str,
    arrange: Callable[[Meeting], tuple[Act, Act]],
    check: Callable[[World], None],
    *,
    swapped: bool = False,
) -> None:
    def finish(m: Meeting) -> None:
        m.world.tick()
        check(m.world)

    meet_and_finish(lambda: Meeting(url), arrange, finish, swapped=swapped, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_saga_that_is_cancelled_during_its_last_judgement_is_undone(
    embedded_url: str, swapped: bool
) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        return m.judge(m.run("pay", Ending.ERROR)), m.cancel("s")

    def check(world: World) -> None:
        world.tick()
        assert world.ready() == {"unbook"}
        world.finish("unbook")
        assert world.history("book")[-2:] == ["succeeded", "cancelled"]
        assert world.submission("s/compensation") is SubmissionState.SUCCEEDED

    _meet(embedded_url, arrange, check, swapped=swapped)


def test_of_two_concurrent_plans_of_a_compensation_one_plans_it(embedded_url: str) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.world.cancel("s")
        return m.plan_compensation(), m.plan_compensation()

    def check(world: World) -> None:
        assert world.history("unbook") == ["waiting", "ready"]

    _meet(embedded_url, arrange, check)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_requested_child_stays_ready_while_its_parent_gets_a_compensation(
    embedded_url: str, swapped: bool
) -> None:
    """Either the compensation leaves the job alone, or it was planned before the other submission came."""

    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.world.cancel("s")
        return m.plan_compensation(), m.plan("stay", id="other", push="wanted")

    def check(world: World) -> None:
        assert world.submission("other") is SubmissionState.ACTIVE
        assert world.state("stay") is State.READY
        assert world.submission("s/compensation") in (SubmissionState.ACTIVE, SubmissionState.SUCCEEDED)

    _meet(embedded_url, arrange, check, swapped=swapped)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_job_that_is_undone_and_rerun_concurrently_succeeds(embedded_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.world.cancel("s")
        m.world.tick()
        return m.judge(m.run("unbook")), m.plan("book", rerun="job", push="wanted")

    def check(world: World) -> None:
        assert world.state("unbook") is State.SUCCEEDED
        world.finish("book")
        assert world.state("book") is State.SUCCEEDED

    _meet(embedded_url, arrange, check, swapped=swapped)
