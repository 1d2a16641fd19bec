"""Marks of submissions that clients wait for, and the states that these clients read."""

import psycopg
import pytest

from sluice.broker.messages import Executed
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle import awaited_ends
from sluice.ledger.lifecycle.awaited_ends import PLANNED_WITHIN_S, Awaited, Progress
from tests.world import World


def progress(world: World, submission: str, *, of_job: bool = True) -> Progress:
    return world.ledger.transact(lambda tx: awaited_ends.read(tx, [Awaited(submission, of_job)]))[0]


def is_marked(world: World, submission: str) -> bool:
    """Try to mark a submission. Return whether it is marked then."""
    world.ledger.transact(lambda tx: awaited_ends.mark(tx, [submission]))
    return bool(progress(world, submission).awaited)


@pytest.fixture
def unplanned(world: World) -> World:
    """Return a world with an app, and a paused submission \"s\" that no planner takes."""
    world.apps("a")
    world.submit("a", id="s")
    world.ledger.transact(
        lambda tx: tx.write(
            "UPDATE submission SET state = 'received', received_at = %(now)s, paused_at = %(now)s"
        )
    )
    return world


def test_a_new_submission_is_not_locked_before_it_is_planned(unplanned: World) -> None:
    assert not is_marked(unplanned, "s")
    unplanned.tick(after_s=2 * PLANNED_WITHIN_S)
    assert is_marked(unplanned, "s")


def test_a_planned_submission_is_marked_at_once_and_an_ended_one_never(world: World) -> None:
    world.apps("a")
    world.submit("a", id="s")
    assert is_marked(world, "s")
    world.submit("a", "2", id="ended")
    world.finish("a/2")
    assert not is_marked(world, "ended")


def test_a_locked_submission_is_skipped(world: World) -> None:
    world.apps("a")
    world.submit("a", id="s")
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT FROM sluice.submission FOR UPDATE")
        assert not is_marked(world, "s")
    assert is_marked(world, "s")


def test_a_job_is_over_before_its_submission(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", id="s")
    assert not progress(world, "s").is_over
    world.finish("a")
    found = progress(world, "s")
    assert (found.name, found.job, found.state) == (
        JobName("a", "1"),
        State.SUCCEEDED,
        SubmissionState.ACTIVE,
    )
    assert found.is_over
    assert not progress(world, "s", of_job=False).is_over
    world.finish("b")
    assert progress(world, "s", of_job=False).is_over


def test_a_job_whose_function_has_yet_to_return_is_not_over_while_its_worker_lives(world: World) -> None:
    world.apps("a")
    world.submit("a", id="s")
    claimed = world.take("a")
    world.ledger.transact(lambda tx: world.right_of(claimed).record(tx.connection, ""))
    world.queue.append(Executed(jobs=(claimed.id,)))
    world.deliver()
    found = progress(world, "s")
    assert (found.job, found.is_pending, found.is_over) == (State.SUCCEEDED, True, False)
    world.tick(after_s=3600)
    assert progress(world, "s").is_over


def test_a_missing_submission_has_no_number(world: World) -> None:
    assert progress(world, "nothing").number is None
