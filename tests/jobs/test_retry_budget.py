"""Delays of failed rounds by a retry budget: never more at once than the bucket has tokens, and none is refused."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.policy.retry_budget import RetryBudget

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("failed_at", "waits"),
    [
        ([], []),
        ([0.0] * 3, [0.0] * 3),
        ([0.0] * 6, [0.0, 0.0, 0.0, 2.0, 4.0, 6.0]),
        ([0.0, 0.0, 0.0, 1.0, 9.0], [0.0, 0.0, 0.0, 1.0, 0.0]),
        ([0.0] * 4 + [100.0] * 4, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]),
    ],
    ids=["no failure", "a full bucket", "more", "the bucket fills again", "the bucket is full again"],
)
def test_a_budget_of_three_retries_in_six_seconds(failed_at: list[float], waits: list[float]) -> None:
    found, _ = RetryBudget(retries=3, per_s=6.0).put_off([at(each) for each in failed_at], NOON)
    assert [each.total_seconds() for each in found] == waits


@given(
    retries=st.integers(1, 20),
    per_s=st.integers(1, 100),
    failed=st.lists(st.integers(0, 500), max_size=60).map(sorted),
    cut=st.integers(0, 60),
)
def test_no_more_rounds_are_retried_than_the_bucket_allows(
    retries: int, per_s: int, failed: list[int], cut: int
) -> None:
    budget = RetryBudget(retries=retries, per_s=float(per_s))
    first, full_at = budget.put_off([at(each) for each in failed[:cut]], NOON)
    then, full_at = budget.put_off([at(each) for each in failed[cut:]], full_at)
    assert (first + then, full_at) == budget.put_off([at(each) for each in failed], NOON), (
        "two calls must yield the times of one call"
    )
    taken = sorted(each + wait.total_seconds() for each, wait in zip(failed, first + then, strict=True))
    assert all(wait >= timedelta() for wait in first + then)
    for number, time in enumerate(taken):
        since = number + 1 - bisect_left(taken, time - per_s + 1e-4)
        assert since <= 2 * retries, "more than a full bucket and its refill"
