"""Batches of ready jobs: the jobs that travel together, and the order of batches."""

from datetime import UTC, datetime

import pytest

from sluice.jobs.policy.priority import Urgency
from sluice.ledger.job_graph.readiness import ReadyJob
from sluice.planner.batches import parcels

SOON, LATER = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
TINY_S = 0.02


def _ready(
    job: int,
    *,
    priority: int = 0,
    effective_deadline: datetime | None = None,
    due_at: datetime = SOON,
    alone: bool = False,
) -> ReadyJob:
    return ReadyJob(job, "a", 0, priority, effective_deadline, due_at, alone)


def test_urgent_jobs_go_first_and_equal_jobs_in_the_order_they_came() -> None:
    ready = [
        _ready(1),
        _ready(2, effective_deadline=LATER),
        _ready(3, priority=1),
        _ready(4),
        _ready(5, effective_deadline=SOON),
        _ready(6, priority=1, effective_deadline=LATER),
    ]
    sent = [[job.job for job in parcel.jobs] for parcel in parcels(ready, {"a": TINY_S})]
    assert sent == [[6, 3], [5, 2], [1, 4]]


def test_the_job_that_was_due_first_goes_first_among_equally_urgent_jobs() -> None:
    ready = [_ready(1, due_at=LATER), _ready(2), _ready(3, priority=1, due_at=LATER), _ready(4)]
    sent = [[job.job for job in parcel.jobs] for parcel in parcels(ready, {"a": TINY_S})]
    assert sent == [[3, 2], [4, 1]]


def test_a_job_that_must_travel_alone_does_so_however_short_it_is() -> None:
    ready = [_ready(1), _ready(2, alone=True), _ready(3)]
    sent = [[job.job for job in parcel.jobs] for parcel in parcels(ready, {"a": TINY_S})]
    assert sorted(sent) == [[1, 3], [2]]


@pytest.mark.parametrize(
    ("jobs", "together"), [(1, {1}), (199, {1}), (200, {2}), (1000, {10}), (1005, {10, 5}), (5000, {20})]
)
def test_few_jobs_of_unknown_pace_travel_alone_and_many_in_batches(jobs: int, together: set[int]) -> None:
    sent = [*parcels(map(_ready, range(jobs)), {})]
    assert {len(parcel.jobs) for parcel in sent} == together
    assert [job.job for parcel in sent for job in parcel.jobs] == [*range(jobs)]


def test_a_higher_priority_outweighs_any_deadline() -> None:
    assert Urgency.of(1, None) < Urgency.of(0, SOON) < Urgency.of(0, LATER) < Urgency.of(0, None)
