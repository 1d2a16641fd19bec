"""Priorities: the most urgent job runs first, also if it is submitted last and other jobs were announced before."""

import random

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.world import LEASE_S, World

SOON, LATER = "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"


def hint(world: World, *jobs: str) -> Execute:
    """Return one message that names these jobs with their present rounds."""
    turns = tuple(JobRound(world.known(job).id, world.round(job)) for job in jobs)
    return Execute(app=world.known(jobs[0]).app, jobs=turns)


def takes(world: World, message: Execute, at_once: int = 1) -> str:
    """Claim jobs with this message. Return their keys in the order in which the worker would run them."""
    taken, _ = transactions.claim(world.ledger, world.catalogue, message, world.worker, at_once=at_once)
    return " ".join(job.key for job in taken)


def drained(world: World) -> str:
    """Claim with each offered notification, in the order they were sent. Return the keys of the claimed jobs."""
    offered, world.offered = world.offered, []
    return " ".join(filter(None, (takes(world, message) for message in offered)))


def queued(world: World, *keys: str, **policy: object) -> None:
    """Submit these keys of ``a``, one after the other."""
    for key in keys:
        world.submit("a", key, policy=policy)


def lost(world: World, job: str) -> None:
    """Lose the worker that has claimed this job. The next notification of the job is for it alone."""
    assert world.claim(job, worker=world.hire())
    world.tick(after_s=LEASE_S + 1)
    world.beat(world.worker)


def test_the_next_notification_takes_the_most_urgent_job_and_the_last_the_displaced_one(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2", "3", "4")
    queued(world, "urgent", priority=1)
    assert drained(world) == "urgent 2 3 4 1"


def test_within_a_priority_the_earliest_deadline_goes_first_and_no_deadline_last(world: World) -> None:
    world.apps("a")
    queued(world, "never")
    queued(world, "later", end_before=LATER)
    queued(world, "soon", end_before=SOON)
    queued(world, "high", priority=1)
    queued(world, "low", priority=-1, end_before=SOON)
    assert drained(world) == "high soon later never low"


def test_equally_urgent_jobs_are_claimed_in_the_order_of_their_notifications(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2", "3", priority=5)
    world.offered.reverse()
    assert drained(world) == "3 2 1"


def test_a_repeated_notification_takes_another_job_and_the_last_one_finds_none(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2")
    world.offered.insert(0, world.offered[0])
    assert [takes(world, message) for message in world.offered] == ["1", "2", ""]


def test_a_worker_that_takes_several_jobs_leaves_later_notifications_without_a_job(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2", "3", "4")
    queued(world, "urgent", priority=1)
    taken = [takes(world, message, at_once=3) for message in world.offered]
    assert taken == ["urgent 1 2", "3 4", "", "", ""]


def test_a_worker_that_takes_two_at_once_takes_all_three_named_jobs(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2", "3")
    assert takes(world, hint(world, "a/1", "a/2", "a/3"), at_once=2) == "1 2 3"


def test_a_job_with_a_lost_lease_is_taken_alone_even_if_several_are_requested(world: World) -> None:
    world.apps("a")
    queued(world, "1")
    lost(world, "a/1")
    queued(world, "2", "3")
    assert takes(world, hint(world, "a/2"), at_once=5) == "1"
    assert takes(world, hint(world, "a/2"), at_once=5) == "2 3"


def test_urgent_jobs_replace_the_least_urgent_jobs_of_a_batch(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2", "3")
    queued(world, "4", "5", priority=2)
    queued(world, "6", priority=1)
    assert takes(world, hint(world, "a/1", "a/4", "a/2")) == "4 5 6"
    assert takes(world, hint(world, "a/5", "a/6")) == "1 2"
    assert world.ready() == {"a/3"}


def test_a_claimed_job_of_a_batch_is_replaced_by_one_other_job(world: World) -> None:
    world.apps("a")
    queued(world, "1", "2", "3", "4")
    assert world.claim("a/2")
    assert takes(world, hint(world, "a/1", "a/2")) == "1 3"
    assert world.ready() == {"a/4"}


def test_a_notification_takes_no_job_of_another_app(world: World) -> None:
    world.apps("a, b")
    queued(world, "1")
    world.submit("b", "urgent", policy={"priority": 9})
    first = hint(world, "a/1")
    assert [takes(world, first), takes(world, first)] == ["1", ""]
    assert world.ready() == {"b/urgent"}


def test_a_notification_for_an_expired_job_takes_another_job(world: World) -> None:
    world.apps("a")
    queued(world, "late", priority=9, end_before="2026-01-01T00:00:10Z")
    queued(world, "1")
    world.now = world.now.replace(second=10)
    assert takes(world, hint(world, "a/late")) == "1"
    assert world.ready() == {"a/late"}


def test_a_worker_without_a_lease_claims_no_job(world: World) -> None:
    world.apps("a")
    queued(world, "1")
    queued(world, "urgent", priority=1)
    world.now = world.now.replace(second=int(LEASE_S) + 1)
    assert drained(world) == ""
    assert world.ready() == {"a", "a/urgent"}


def test_a_notification_for_a_batch_takes_a_job_with_a_lost_lease_alone(world: World) -> None:
    world.apps("a")
    queued(world, "bad", priority=9)
    lost(world, "a/bad")
    queued(world, "1", "2", "3")
    assert takes(world, hint(world, "a/1", "a/2")) == "bad"
    assert takes(world, hint(world, "a/1", "a/2")) == "1 2"


def test_the_notification_of_a_job_with_a_lost_lease_takes_no_more_urgent_job(
    world: World,
) -> None:
    world.apps("a")
    queued(world, "bad")
    lost(world, "a/bad")
    queued(world, "urgent", priority=9)
    assert takes(world, hint(world, "a/bad")) == "bad"


@pytest.mark.parametrize("seed", range(5))
def test_notifications_suffice_in_whatever_order_they_arrive(world: World, seed: int) -> None:
    """Reorder and sometimes repeat notifications for one job and for batches. New jobs arrive in between."""
    rng = random.Random(seed)
    world.apps("a")
    keys = [str(number) for number in range(40)]
    sent: list[Execute] = []
    ran: list[str] = []
    while keys:
        come, keys = keys[:5], keys[5:]
        for key in come:
            queued(world, key, priority=rng.randrange(4))
        cut = rng.randrange(1, 5)
        sent += [hint(world, *(f"a/{key}" for key in part)) for part in (come[:cut], come[cut:])]
        sent += rng.sample(sent, 1) * rng.randrange(2)
        rng.shuffle(sent)
        ran += takes(world, sent.pop()).split()
    for message in sent:
        ran += takes(world, message).split()
    assert sorted(ran, key=int) == [str(number) for number in range(40)]


def test_the_priority_of_a_submission_applies_to_all_jobs_it_requests(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", policy={"priority": 7})
    assert (world.field("a", "priority"), world.field("b", "priority")) == (7, 7)


def test_the_priority_of_an_app_is_lent_to_its_parents_over_three_levels(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}", "bash_cmd": "true"},
            "b": {"job_id": "{x}", "bash_cmd": "true", "priority": 2, "depends_on": {"app_name": ["a"]}},
            "c": {"job_id": "{x}", "bash_cmd": "true", "depends_on": {"app_name": ["b"]}},
            "d": {"job_id": "{x}", "bash_cmd": "true", "priority": 5, "depends_on": {"app_name": ["c"]}},
        }
    )
    world.submit("b")
    assert [world.field(app, "priority") for app in "ab"] == [2, 2]
    world.submit("d")
    assert [world.field(app, "priority") for app in "abcd"] == [5, 5, 5, 5]


def test_a_submission_raises_parents_of_an_earlier_one_so_that_they_run_next(world: World) -> None:
    world.apps("a -> b, b -> c")
    queued(world, "1", "2", "3")
    world.submit("b", "3")
    world.submit("c", "3", policy={"priority": 4})
    assert world.field("b/3", "priority") == 4
    assert drained(world) == "3 2 1"


def test_priority_is_lent_to_parents_of_every_alternative_but_not_to_ended_ones(world: World) -> None:
    groups = {"left": {"app_name": ["a"]}, "right": {"app_name": ["b", "c"]}}
    apps: dict[str, dict[str, object]] = {name: {"job_id": "{x}", "bash_cmd": "true"} for name in "abcd"}
    world.define(apps | {"d": {**apps["d"], "depends_on": groups}})
    for name in "abc":
        world.submit(name, push="wanted")
    world.finish("c")
    world.submit("d", policy={"priority": 3})
    assert [world.field(name, "priority") for name in "abc"] == [3, 3, 0]


def test_a_parent_gets_the_earliest_deadline_of_its_children_but_does_not_expire_by_it(
    world: World,
) -> None:
    world.apps("a -> b, a -> c")
    world.submit("a", policy={"end_before": LATER})
    assert world.field("a", "effective_deadline::date::text") == "2026-03-01"
    world.submit("b", policy={"end_before": SOON})
    world.submit("c", policy={"end_before": "2026-02-15T00:00:00Z"})
    assert world.field("a", "effective_deadline::date::text") == "2026-02-01"
    assert world.field("a", "end_before::date::text") == "2026-03-01"


def test_a_running_parent_gets_the_priority_for_its_next_round(world: World) -> None:
    world.apps("a -> b", max_fails=1)
    world.submit("a", push="wanted")
    claimed = world.claim("a")
    assert claimed is not None
    world.submit("b", policy={"priority": 6})
    assert world.record(claimed, Ending.ERROR)
    assert (world.state("a"), world.field("a", "priority")) == (State.READY, 6)


def test_an_expected_parent_keeps_its_lent_priority_when_it_is_submitted(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}", "bash_cmd": "true"},
            "b": {"job_id": "{x}", "bash_cmd": "true"},
            "g": {"job_id": "{x}", "bash_cmd": "true"},
            "c": {"job_id": "{x}", "bash_cmd": "true", "priority": 8, "depends_on": {"app_name": ["a", "b"]}},
        }
    )
    world.submit("a")
    world.finish("a")
    assert (world.state("b"), world.state("c")) == (State.EXPECTED, State.WAITING)
    world.submit("b", policy={"priority": 1})
    assert (world.state("b"), world.field("b", "priority")) == (State.READY, 8)


def test_an_alternative_that_is_requested_late_gets_the_priority_too(world: World) -> None:
    groups = {"left": {"app_name": ["a"]}, "right": {"app_name": ["b"]}}
    apps: dict[str, dict[str, object]] = {name: {"job_id": "{x}", "bash_cmd": "true"} for name in "abc"}
    world.define(apps | {"c": {**apps["c"], "priority": 3, "depends_on": groups}})
    world.submit("c")
    world.finish("a", Ending.ERROR)
    assert (world.state("b"), world.field("b", "priority")) == (State.READY, 3)


def test_a_cancelled_child_does_not_lower_the_priority_of_its_parent(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.cancel(world.submit("b", policy={"priority": 2}))
    assert (world.state("b"), world.field("a", "priority")) == (State.CANCELLED, 2)


def test_a_rerun_job_has_its_own_deadline_and_not_the_lent_one(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.submit("b", policy={"end_before": SOON})
    world.finish("a")
    world.finish("b")
    world.submit("a", rerun="job", push="wanted")
    assert world.field("a", "effective_deadline") is None
    world.submit("b", rerun="job")
    assert world.field("b", "effective_deadline::date::text") == "2026-02-01"


def test_lending_an_equal_priority_writes_no_row(world: World) -> None:
    world.apps("a -> b, a -> c")
    world.submit("b")
    version = world.field("a", "ctid::text")
    world.submit("c")
    assert world.field("a", "ctid::text") == version
