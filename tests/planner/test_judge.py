"""Verdicts on rounds. For long-running services only failures since the last healthy round count."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.judgement import Case, Verdict
from sluice.jobs.policy.policy import UNENDING
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.states import FAIL, RETRY
from sluice.planner.judge import judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _judged(retry: RetryRule = UNENDING.retry, **words: Any) -> Verdict:
    case = Case(
        id=1,
        app="a",
        key="1",
        ending=Ending.ERROR,
        took_s=None,
        executed_at=NOW,
        retry=retry,
        end_before=None,
        **{"fails": 50, "max_fails": 2**31 - 1, "unbounded": True, **words},
    )
    return judge(case)


def _wait_s(verdict: Verdict) -> float:
    assert verdict.not_before is not None
    return (verdict.not_before - NOW) / timedelta(seconds=1)


@pytest.mark.parametrize(
    ("consecutive_fails", "ran_s", "wait_s", "then"),
    [
        (0, 5, 1, 1),
        (3, 5, 8, 4),
        (20, 5, 300, 21),
        (3, 300, 8, 4),
        (3, 300.1, 1, 1),
    ],
)
def test_the_retry_delay_follows_from_the_failures_since_the_last_healthy_round(
    consecutive_fails: int, ran_s: float, wait_s: float, then: int
) -> None:
    verdict = _judged(consecutive_fails=consecutive_fails, ran_s=ran_s)
    assert (_wait_s(verdict), verdict.consecutive_fails) == (wait_s, then)


def test_without_retry_delays_a_round_is_healthy_after_ten_seconds() -> None:
    assert _judged(RetryRule(), consecutive_fails=2, ran_s=9, max_fails=2).verb is FAIL
    assert _judged(RetryRule(), consecutive_fails=2, ran_s=11, max_fails=2).verb is RETRY


def test_for_other_work_every_failure_counts() -> None:
    assert _judged(unbounded=False, fails=1, max_fails=1, consecutive_fails=0, ran_s=99_999).verb is FAIL
    assert _wait_s(_judged(unbounded=False, fails=3, ran_s=99_999)) == 8


def test_a_round_may_set_its_own_retry_delay_or_rule_out_a_retry() -> None:
    words = {"unbounded": False, "fails": 0, "max_fails": 3}
    assert _wait_s(_judged(RetryRule(delay_s=10), retry_after_s=300, **words)) == 300
    assert _judged(retry_after_s=300, **{**words, "fails": 3}).verb is FAIL
    assert _judged(final=True, **words).verb is FAIL
