"""Races of a plan that finds an input too old, with other operations on that input.

Each act is stopped at every statement. The input runs again once, and the requested job succeeds.
"""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.broker.messages import Message
from sluice.jobs.model.job import Ending
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Ledger
from tests.ledger.lags import done, lags
from tests.ledger.races import Act, Acts, may_deadlock, meet_and_finish
from tests.world import LEASE_S, World

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 80

#: Two acts, and the number of runs of ``a`` at the end.
Pair = tuple[Act, Act, int]


class Meeting(Acts):
    """World in which ``c`` and ``d`` need ``a`` at most one hour old, and it is older.

    ``f`` may use ``b`` instead.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(lags("a; b; c: a(1h); d: a(1h); f: b | a(1h)"))
        done(self.world, "a", hours_ago=2)
        self.world.worker = self.world.hire()

    def plan_pushed(self, app: str, **words: Any) -> Act:
        return self.plan(app, push="wanted", **words)


def _two_plans(m: Meeting) -> Pair:
    return m.plan_pushed("c"), m.plan_pushed("d"), 2


def _a_plan_and_a_rerun(m: Meeting) -> Pair:
    return m.plan_pushed("c"), m.plan_pushed("a", rerun="job"), 2


def _a_plan_and_the_claim_of_the_new_run(m: Meeting) -> Pair:
    m.world.submit("d", push="wanted")
    # The worker that claims ``a`` sends no more heartbeats, so ``a`` runs a third time.
    return m.plan_pushed("c"), m.claim("a", worker=m.world.hire()), 3


def _a_plan_and_the_judgement_of_the_new_run(m: Meeting) -> Pair:
    m.world.submit("d", push="wanted")
    return m.plan_pushed("c"), m.judge(m.run("a")), 2


def _a_plan_and_the_end_of_another_way(m: Meeting) -> Pair:
    m.world.submit("f", push="wanted")
    return m.plan_pushed("c"), m.judge(m.run("b", Ending.ERROR)), 2


def _a_plan_and_a_whole_run(m: Meeting) -> Pair:
    """Plan ``c`` while ``a`` runs from start to end. ``a`` may be fresh again when the plan writes."""
    rerun, claim = m.plan_pushed("a", rerun="job"), m.claim("a", worker=m.world.hire())
    judge = m.judge(m.world.known("a").id)

    def act(ledger: Ledger) -> list[Message]:
        rerun(ledger)
        claim(ledger)
        for claimed in m.taken:
            m.record(claimed)(ledger)
        return judge(ledger)

    return m.plan_pushed("c"), act, 2


def _a_plan_and_a_cancellation(m: Meeting) -> Pair:
    """Plan ``c`` while ``d`` is cancelled. ``a`` has not run again for ``d``, so it runs for ``c``."""
    return m.plan_pushed("c"), m.cancel(m.world.submit("d", push="wanted")), 2


MEETINGS = [
    _two_plans,
    _a_plan_and_a_rerun,
    _a_plan_and_a_whole_run,
    _a_plan_and_the_claim_of_the_new_run,
    _a_plan_and_the_judgement_of_the_new_run,
    _a_plan_and_the_end_of_another_way,
    _a_plan_and_a_cancellation,
]


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_stale_input_runs_again_once_if_a_plan_races_another_verb(
    embedded_url: str, arrange: Callable[[Meeting], Pair], swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if arrange is _a_plan_and_the_end_of_another_way:
        may_deadlock(monkeypatch)
    runs = 0

    def acts(m: Meeting) -> tuple[Act, Act]:
        nonlocal runs
        one, two, runs = arrange(m)
        return one, two

    def finish(m: Meeting) -> None:
        _work_off(m.world)
        assert m.world.state("c") is State.SUCCEEDED
        assert m.world.history("a").count(State.RUNNING) == runs

    meet_and_finish(lambda: Meeting(embedded_url), acts, finish, swapped=swapped, most=STATEMENTS_MAX)


def _work_off(world: World) -> None:
    for _ in range(5):
        while ready := world.ready():
            world.finish(min(ready))
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=LEASE_S + 1)
        world.worker = world.hire()
