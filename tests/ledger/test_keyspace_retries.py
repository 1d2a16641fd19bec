"""Retries of submissions of chunks, of partitions and of sagas."""

import pytest

from sluice.actors.planner.retries import retry
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.trips import UNDONE, chain, fail
from tests.world import World


def test_a_retry_runs_the_failed_half_of_a_split_chunk(world: World) -> None:
    world.define({"c": {"chunk_size": 2, "bash_cmd": "true", "on_failure": "bisect"}})
    submission = world.submit("c", None, work_ids="1-2")
    world.finish("c/1-2@1", Ending.ERROR)
    halves = sorted(world.ready())
    world.finish(halves[0])
    world.finish(halves[1], Ending.ERROR)
    assert world.submission(submission) is SubmissionState.FAILED
    world.retry(submission)
    assert world.ready() == {halves[1]}
    world.finish(halves[1])
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_retry_makes_only_the_missing_partitions(world: World) -> None:
    world.define({"t": {"partition": "day", "step_size": 1, "bash_cmd": "true"}})
    submission = world.submit("t", None, start="2024-04-01", end="2024-04-03", rerun="job")
    first, second, third = sorted(world.ready())
    world.finish(first)
    world.finish(second, Ending.ERROR)
    world.finish(third)
    assert world.submission(submission) is SubmissionState.FAILED
    world.retry(submission)
    assert world.ready() == {second}
    world.finish(second)
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_retry_succeeds_if_another_submission_has_made_some_of_its_partitions(world: World) -> None:
    world.define({"t": {"partition": "day", "step_size": 2, "bash_cmd": "true"}})
    submission = world.submit("t", None, start="2024-04-01", end="2024-04-02")
    (job,) = world.ready()
    world.finish(job, Ending.ERROR)
    world.submit("t", None, start="2024-04-02", end="2024-04-02")
    for other in world.ready():
        world.finish(other)
    world.retry(submission)
    for rest in world.ready():
        world.finish(rest)
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_saga_can_be_retried_once_it_is_undone_and_is_undone_again(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    with pytest.raises(BadRequest, match="being undone"):
        retry(world.ledger, "s")
    world.finish("refund")
    world.finish("unbook")
    world.tick(after_s=10)
    world.retry("s")
    for job in ("book", "pay"):
        world.finish(job)
    world.finish("send", Ending.ERROR)
    assert world.submission("s") is SubmissionState.FAILED
    world.tick()
    world.finish("refund")
    world.finish("unbook")
    assert {world.state("book"), world.state("pay")} == {State.CANCELLED}
    assert world.submission(UNDONE) is SubmissionState.SUCCEEDED


def test_a_compensation_is_not_retried_while_its_saga_runs_again(world: World) -> None:
    chain(world)
    fail(world, "book", "pay", at="send")
    world.finish("refund", Ending.ERROR)
    world.retry(UNDONE)
    assert world.ready() == {"refund"}
    world.finish("refund", Ending.ERROR)
    world.retry("s")
    with pytest.raises(BadRequest, match="is being run again"):
        retry(world.ledger, UNDONE)
