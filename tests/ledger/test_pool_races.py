"""Races of verbs over the slots of a pool, stopped at every statement. The limit holds, and every job ends."""

from collections.abc import Callable

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.states import DISPATCHED
from sluice.ledger.limits import pools
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish
from tests.world import LEASE_S

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 60
LIMIT = 2

Pair = Callable[["Meeting"], tuple[Act, Act]]


class Meeting(Acts):
    """World with a pool of two slots.

    ``a`` runs, ``b`` is ready, and ``c`` waits for a slot. ``other`` requests ``b`` too. ``d`` needs ``a`` and is not
    planned.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        pool = {"pool": "p", "limit": LIMIT}
        submitters = ["concurrency"]
        self.world.apps("a -> d, b, c", concurrency=pool, max_fails=1, submitters_may_set=submitters)
        self.ids = {app: self.world.submit(app, push="wanted", id=app) for app in "abc"}
        self.world.submit("b", push="wanted", id="other")
        self.claimed = self.world.take("a")
        assert [self.world.field(app, "waiting_for_slot") for app in "abc"] == [False, False, True]

    def lose_the_lease(self) -> None:
        self.world.tick()
        self.world.now = self.world.now.replace(second=int(LEASE_S) + 1)

    def dispatched(self) -> int:
        states = self.world.states().values()
        return sum(state in DISPATCHED for state in states)

    def free_one_slot(self) -> None:
        """End ``c`` and ``b``: one slot is free, and no job waits for it."""
        for app in "cb":
            self.cancel_job(app)(self.world.ledger)


def _two_plans_for_the_last_slot(m: Meeting) -> tuple[Act, Act]:
    m.free_one_slot()
    return m.plan("a", "2"), m.plan("b", "2")


def _a_plan_and_an_end(m: Meeting) -> tuple[Act, Act]:
    return m.plan("b", "2"), m.record(m.claimed)


def _a_plan_and_an_end_while_no_job_waits_for_a_slot(m: Meeting) -> tuple[Act, Act]:
    m.cancel_job("c")(m.world.ledger)
    return m.plan("b", "2"), m.record(m.claimed)


def _a_plan_that_names_the_waiting_job_and_an_end(m: Meeting) -> tuple[Act, Act]:
    return m.plan("c", policy={"priority": 3}), m.record(m.claimed)


def _a_plan_that_raises_the_limit_and_an_end(m: Meeting) -> tuple[Act, Act]:
    return m.plan("c", policy={"concurrency": {"pool": "p", "limit": LIMIT}, "priority": 1}), m.record(
        m.claimed
    )


def _a_plan_and_a_cancellation_of_a_job_with_a_slot(m: Meeting) -> tuple[Act, Act]:
    return m.plan("b", "2"), m.cancel_job("b")


def _a_cancellation_and_an_end(m: Meeting) -> tuple[Act, Act]:
    return m.cancel("c"), m.record(m.claimed)


def _two_cancellations(m: Meeting) -> tuple[Act, Act]:
    return m.cancel("b"), m.cancel("other")


def _two_ends(m: Meeting) -> tuple[Act, Act]:
    m.plan("b", "2")(m.world.ledger)
    return m.record(m.claimed), m.cancel_job("b")


def _a_plan_and_a_lost_lease(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.plan("b", "2"), m.groom()


def _an_end_and_a_lost_lease(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.record(m.claimed), m.groom()


def _two_grooms(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.groom(), m.groom()


def _a_judgement_that_tries_again_and_a_plan(m: Meeting) -> tuple[Act, Act]:
    m.record(m.claimed, Ending.ERROR)(m.world.ledger)
    return m.judge(m.claimed.id), m.plan("b", "2")


def _a_judgement_that_pushes_and_an_end(m: Meeting) -> tuple[Act, Act]:
    m.plan("d")(m.world.ledger)
    m.record(m.claimed)(m.world.ledger)
    return m.judge(m.claimed.id), m.cancel_job("b")


def _a_pause_and_an_end(m: Meeting) -> tuple[Act, Act]:
    return m.pause("c"), m.record(m.claimed)


def _a_resumption_and_an_end(m: Meeting) -> tuple[Act, Act]:
    m.pause("c")(m.world.ledger)
    return m.resume("c"), m.record(m.claimed)


def _a_pause_of_a_job_with_a_slot_and_a_plan(m: Meeting) -> tuple[Act, Act]:
    m.pause("other")(m.world.ledger)
    return m.pause("b"), m.plan("a", "2")


def _a_pause_and_a_claim(m: Meeting) -> tuple[Act, Act]:
    m.pause("other")(m.world.ledger)
    return m.pause("b"), m.claim("b")


def _a_claim_and_an_end(m: Meeting) -> tuple[Act, Act]:
    return m.claim("b"), m.record(m.claimed)


def _a_rerun_of_a_parent_and_an_end(m: Meeting) -> tuple[Act, Act]:
    """Rerun ``a`` while ``d`` waits for a slot. ``d`` has to wait for ``a`` again."""
    m.plan("d")(m.world.ledger)
    m.world.record(m.claimed)
    return m.plan("a", rerun="job"), m.cancel_job("b")


PAIRS = [
    _two_plans_for_the_last_slot,
    _a_plan_and_an_end,
    _a_plan_and_an_end_while_no_job_waits_for_a_slot,
    _a_plan_that_names_the_waiting_job_and_an_end,
    _a_plan_that_raises_the_limit_and_an_end,
    _a_plan_and_a_cancellation_of_a_job_with_a_slot,
    _a_cancellation_and_an_end,
    _two_cancellations,
    _two_ends,
    _a_plan_and_a_lost_lease,
    _an_end_and_a_lost_lease,
    _two_grooms,
    _a_judgement_that_tries_again_and_a_plan,
    _a_judgement_that_pushes_and_an_end,
    _a_pause_and_an_end,
    _a_resumption_and_an_end,
    _a_pause_of_a_job_with_a_slot_and_a_plan,
    _a_pause_and_a_claim,
    _a_claim_and_an_end,
    _a_rerun_of_a_parent_and_an_end,
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_verbs_that_race_for_a_slot_keep_the_limit_and_lose_no_job(
    embedded_url: str, pair: Pair, swapped: bool
) -> None:
    _meet(embedded_url, pair, swapped=swapped)


def test_without_the_advisory_locks_two_plans_take_the_last_slot(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the races can fail."""
    monkeypatch.setattr(pools, "_TAKE_TURNS", "SELECT '{}'::text[], 1 WHERE %(pools)s::text[] IS NOT NULL")
    with pytest.raises(AssertionError, match="3 of 2"):
        _meet(embedded_url, _two_plans_for_the_last_slot, swapped=False)


def _meet(url: str, pair: Pair, *, swapped: bool) -> None:
    meet_and_finish(
        lambda: Meeting(url),
        pair,
        _finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
        before_delivery=_hold_the_limit,
    )


def _hold_the_limit(meeting: Meeting) -> None:
    assert meeting.dispatched() <= LIMIT, f"{meeting.dispatched()} of {LIMIT}"


def _finish(meeting: Meeting) -> None:
    """Resume all submissions and run jobs until every requested job has ended, within the limit of the pool."""
    world = meeting.world
    for submission in meeting.ids:
        world.resume(submission)
    world.resume("other")
    for claimed in (meeting.claimed, *meeting.taken):
        world.record(claimed)
    world.worker = world.hire()
    finish_all_jobs(world, before_each=lambda: _hold_the_limit(meeting))
