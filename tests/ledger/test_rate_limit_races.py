"""Races of verbs over the tokens of a bucket, stopped at every statement. No bucket is overdrawn."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from sluice.ledger.limits import pools
from sluice.ledger.limits.rate_limits import tokens
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 60

Pair = Callable[["Meeting"], tuple[Act, Act]]
_LEFT = f"SELECT {tokens('given.bucket')} FROM (SELECT 'a') AS given (bucket)"


class Meeting(Acts):
    """World with a bucket of three tokens that is refilled once in an hour, in two pools.

    ``a/1_x`` runs and ``a/2_y`` is ready, so one token is left. ``a/3_x`` waits for the slot of ``x``.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(
            {
                "a": {"job_id": "{n}_{client}", "bash_cmd": "true", "max_fails": 1}
                | {"concurrency": {"key": "{client}", "limit": 1}}
                | {"rate_limit": {"limit": "1/h", "burst": 3}},
            }
        )
        for key in ("1_x", "2_y", "3_x"):
            self.world.submit("a", key, id=key)
        self.claimed = self.world.take("a/1_x")
        assert [self.world.field(f"a/{key}", "waiting_for_slot") for key in ("2_y", "3_x")] == [False, True]


def _two_plans_in_two_pools_for_the_last_token(m: Meeting) -> tuple[Act, Act]:
    return m.plan("a", "4_u"), m.plan("a", "5_v")


def _a_plan_and_a_claim(m: Meeting) -> tuple[Act, Act]:
    return m.plan("a", "4_u"), m.claim("a/2_y")


def _a_plan_and_an_end_that_frees_a_slot(m: Meeting) -> tuple[Act, Act]:
    return m.plan("a", "4_u"), m.record(m.claimed)


def _an_end_and_a_tick(m: Meeting) -> tuple[Act, Act]:
    m.plan("a", "4_u")(m.world.ledger)
    m.world.now += timedelta(hours=1)
    return m.record(m.claimed), m.groom()


def _two_ticks(m: Meeting) -> tuple[Act, Act]:
    for key in ("4_u", "5_v"):
        m.plan("a", key)(m.world.ledger)
    m.world.now += timedelta(hours=1)
    return m.groom(), m.groom()


def _a_claim_and_a_tick(m: Meeting) -> tuple[Act, Act]:
    for key in ("4_u", "5_v"):
        m.plan("a", key)(m.world.ledger)
    m.world.now += timedelta(hours=1)
    return m.claim("a/2_y"), m.groom()


def _a_cancellation_and_a_plan(m: Meeting) -> tuple[Act, Act]:
    m.plan("a", "4_u")(m.world.ledger)
    return m.cancel("2_y"), m.plan("a", "5_v")


def _a_pause_and_a_claim(m: Meeting) -> tuple[Act, Act]:
    m.plan("a", "4_u")(m.world.ledger)
    m.plan("a", "5_v")(m.world.ledger)
    return m.pause("2_y"), m.claim("a/2_y")


def _a_changed_limit_and_a_plan(m: Meeting) -> tuple[Act, Act]:
    limit = {"limit": "1/h", "burst": 4}
    m.world.define({"a": m.world.defined["a"] | {"rate_limit": limit}})
    return m.groom(), m.plan("a", "4_u")


PAIRS = [
    _two_plans_in_two_pools_for_the_last_token,
    _a_plan_and_a_claim,
    _a_plan_and_an_end_that_frees_a_slot,
    _an_end_and_a_tick,
    _two_ticks,
    _a_claim_and_a_tick,
    _a_cancellation_and_a_plan,
    _a_pause_and_a_claim,
    _a_changed_limit_and_a_plan,
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_verbs_that_race_for_a_token_overdraw_no_bucket(
    embedded_url: str, pair: Pair, swapped: bool
) -> None:
    _meet(embedded_url, pair, swapped=swapped)


def test_without_the_advisory_locks_two_plans_take_the_last_token(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the races can fail."""
    monkeypatch.setattr(pools, "_TAKE_TURNS", "SELECT '{a}'::text[], 1 WHERE %(pools)s::text[] IS NOT NULL")
    with pytest.raises(AssertionError, match="-1 tokens are left"):
        _meet(embedded_url, _two_plans_in_two_pools_for_the_last_token, swapped=False)


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
    (left,) = meeting.world.ledger.transact(lambda tx: tx.column(_LEFT))
    assert left >= 0, f"{left} tokens are left"


def _finish(meeting: Meeting) -> None:
    """Resume all submissions and run jobs until every requested job has ended, within the limit of the bucket."""
    world = meeting.world
    for submission in ("1_x", "2_y", "3_x"):
        world.resume(submission)
    for claimed in (meeting.claimed, *meeting.taken):
        world.record(claimed)
    world.worker = world.hire()
    _hold_the_limit(meeting)
    world.now += timedelta(hours=9)
    world.beat(world.worker)
    finish_all_jobs(world, before_each=lambda: _more_time(meeting))


def _more_time(meeting: Meeting) -> None:
    _hold_the_limit(meeting)
    meeting.world.now += timedelta(hours=1)
    meeting.world.beat(meeting.world.worker)
