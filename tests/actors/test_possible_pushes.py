"""Ends of jobs with children that a submission may request because of these ends."""

import pytest

from sluice.actors.executor import transactions
from sluice.actors.planner import bubble_down
from sluice.actors.planner.bubble_down import possible_pushes
from sluice.broker.messages import Execute, Message
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from tests.world import World, catalogue_of

_REQUESTS = """
SELECT submission.id FROM submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission_job.job = %(job)s ORDER BY id
"""
_DATED = {"job_id": "{date}", "identifiers": {"date": "date"}, "bash_cmd": "true"}
_KEYED = {"job_id": "{x}", "bash_cmd": "true"}


def _end(world: World, job: str) -> list[Message]:
    """End a job as its worker does, deliver the messages that follow, and return those for the planner."""
    claimed = world.take(job)
    names = {claimed.id: JobName(claimed.app, claimed.key)}
    outcomes = {claimed.right: Outcome(ending=Ending.DONE)}
    sent = [*transactions.settle(world.ledger, world.catalogue, outcomes, names=names).messages]
    world.queue.extend(sent)
    world.deliver()
    return [message for message in sent if not isinstance(message, Execute)]


def _requests(world: World, job: str) -> list[str]:
    """Return the submissions that request a job."""
    number = world.known(job).id
    return world.ledger.transact(lambda tx: tx.column(_REQUESTS, job=number))


def test_the_planner_is_not_notified_if_all_children_are_requested(world: World) -> None:
    world.apps("a -> b, a -> c, b -> d, c -> d, e -> b")
    world.submit("d")
    assert _end(world, "a") == []


def test_the_planner_is_notified_of_a_child_that_is_not_requested(world: World) -> None:
    world.apps("a -> b, a -> c")
    submission = world.submit("a")
    assert _end(world, "a")
    assert _requests(world, "b") == _requests(world, "c") == [submission]


def test_the_planner_is_notified_of_a_child_that_only_another_submission_requests(world: World) -> None:
    world.apps("a -> b")
    both = sorted([world.submit("b"), world.submit("a")])
    assert _end(world, "a")
    assert _requests(world, "b") == both


def test_a_child_that_is_requested_under_another_key_is_planned(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", "1")
    submission = world.submit("a", "2")
    assert _end(world, "a/2")
    assert _requests(world, "b/2") == [submission]


def test_the_planner_is_not_notified_if_no_submission_requests_children(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    assert _end(world, "a") == []


def test_the_planner_is_notified_of_a_job_whose_name_the_worker_does_not_know(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    claimed = world.take("a")
    outcomes = {claimed.right: Outcome(ending=Ending.DONE)}
    assert transactions.settle(world.ledger, world.catalogue, outcomes).messages


def test_children_that_are_many_or_unknown_are_left_to_the_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    child = {"job_id": "{x}_{y}", "autofill_values": {"y": [1, 2, 3]}, "depends_on": {"app_name": ["a"]}}
    catalogue = catalogue_of(
        {
            "a": _KEYED,
            "b": {**_KEYED, **child},
            "day": {
                **_DATED,
                "depends_on": {"_func": "tests.planner.two_ways:Yesterday", "app_name": ["day"]},
            },
            "p": _DATED,
            "c": {**_DATED, "depends_on": {"_func": "tests.planner.two_ways:Blind", "app_name": ["p"]}},
        }
    )
    job = JobName("a", "1")
    assert possible_pushes(catalogue, job) == [JobName("b", f"1_{n}") for n in (1, 2, 3)]
    monkeypatch.setattr(bubble_down, "LOOKED_UP_MAX", 2)
    assert possible_pushes(catalogue, job) is None
    assert possible_pushes(catalogue, JobName("day", "20260101")) == [JobName("day", "20260102")]
    assert possible_pushes(catalogue, JobName("p", "20260101")) is None
    assert possible_pushes(catalogue, JobName("b", "1_1")) == []
    assert possible_pushes(catalogue, JobName("gone", "1")) == []
