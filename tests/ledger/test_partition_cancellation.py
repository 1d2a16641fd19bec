"""Cancelling of submissions for partitions.

Steps stop that no other active submission needs, however far upstream they are.
"""

import pytest

from sluice.broker.messages import Cancel
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.lineages import ask, end, lineage, needs, ready, states, take, there, times_made, work_off
from tests.world import World

LINEAGE = lineage("s, g*7: s-6, j: g, k: g")
G = "g/2024-04-01..2024-04-07"
_WANTS = """
SELECT submission.id, job.app FROM submission_job JOIN submission ON submission.number = submission_job.submission
JOIN job ON job.id = submission_job.job GROUP BY 1, 2
"""


def _running(world: World, app: str = "j") -> str:
    """Submit ``app`` and run all inputs of its ``g``, so that ``g`` is ready. Return the submission's id."""
    world.define(LINEAGE)
    id_ = ask(world, app, "2024-04-01", "2024-04-07")
    work_off(world, only="s/")
    return id_


def test_a_step_that_only_one_submission_wants_is_cancelled_with_it(world: World) -> None:
    first = _running(world)
    claimed = take(world, G)
    world.cancel(first)
    assert states(world)[G] is State.CANCELLED
    assert set(states(world, "j").values()) == {State.CANCELLED}
    assert world.submission(first) is SubmissionState.CANCELLED
    assert not world.record(claimed)
    assert there(world, "g") == []


def test_a_step_that_another_submission_wants_goes_on(world: World) -> None:
    first = _running(world)
    claimed = take(world, G)
    second = ask(world, "k", "2024-04-03", "2024-04-04")
    world.cancel(first)
    assert states(world)[G] is State.RUNNING
    assert set(states(world, "j").values()) == {State.CANCELLED}
    assert world.record(claimed)
    work_off(world)
    assert world.submission(second) is SubmissionState.SUCCEEDED


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the first submission", "the second submission"])
def test_a_step_is_cancelled_with_its_last_submission(world: World, order: tuple[int, int]) -> None:
    ids = [_running(world)]
    take(world, G)
    ids.append(ask(world, "k", "2024-04-03"))
    world.cancel(ids[order[0]])
    assert states(world)[G] is State.RUNNING
    world.cancel(ids[order[1]])
    assert states(world)[G] is State.CANCELLED


def test_inputs_of_a_joined_step_go_on_for_the_submission_that_joined_it(world: World) -> None:
    world.define(LINEAGE)
    direct = ask(world, "s", "2024-03-26", "2024-04-07")
    through = ask(world, "g", "2024-04-01", "2024-04-07")
    joining = ask(world, "k", "2024-04-02")
    world.cancel(direct)
    assert set(states(world, "s").values()) == {State.READY}
    world.cancel(through)
    assert set(states(world, "s").values()) == {State.READY}
    assert states(world)[G] is State.WAITING
    work_off(world)
    assert world.submission(joining) is SubmissionState.SUCCEEDED


def test_a_step_that_is_needed_three_levels_upstream_goes_on(world: World) -> None:
    world.define(lineage("a, b: a, c: b, d: c, e: c"))
    first = ask(world, "d", "2024-04-01")
    second = ask(world, "e", "2024-04-01")
    wants = world.ledger.transact(lambda tx: tx.rows(_WANTS))
    assert {app for id_, app in wants if id_ == second} == {"a", "b", "c", "e"}
    world.cancel(first)
    assert states(world)["a/2024-04-01"] is State.READY
    assert states(world)["d/2024-04-01"] is State.CANCELLED
    world.cancel(second)
    assert set(states(world).values()) == {State.CANCELLED}


def test_a_succeeded_step_stays_and_serves_the_next_submission(world: World) -> None:
    first = _running(world)
    end(world, G)
    world.cancel(first)
    assert states(world)[G] is State.SUCCEEDED
    ask(world, "k", "2024-04-01")
    assert ready(world) == {"k/2024-04-01"}


def test_a_failed_step_does_not_keep_its_inputs_from_being_cancelled(world: World) -> None:
    world.define(lineage("s, t, g*2: s, j: g t"))
    first = ask(world, "j", "2024-04-01")
    second = ask(world, "g", "2024-04-01")
    end(world, "t/2024-04-01", Ending.ERROR)
    assert states(world)["j/2024-04-01"] is State.UPSTREAM_FAILED
    world.cancel(second)
    # The first submission may still wait for the steps that it requested. Once it is cancelled too, none does.
    if world.submission(first) is SubmissionState.ACTIVE:
        world.cancel(first)
    assert states(world)["g/2024-04-01"] is State.CANCELLED


def test_cancelling_a_submission_twice_or_an_unknown_one_changes_nothing(world: World) -> None:
    first = _running(world)
    second = ask(world, "k", "2024-04-01")
    world.cancel(first)
    before = states(world)
    world.cancel(first)
    world.cancel("nobody")
    assert states(world) == before
    assert world.submission(second) is SubmissionState.ACTIVE


def test_cancelling_a_step_by_name_fails_all_steps_that_need_it(world: World) -> None:
    first = _running(world)
    second = ask(world, "k", "2024-04-01")
    (step,) = [name for name in world.states() if name.startswith("g/")]
    world.queue.append(Cancel(app="g", key=step.partition("/")[2]))
    world.deliver()
    assert set(states(world, "j").values()) == set(states(world, "k").values()) == {State.UPSTREAM_FAILED}
    assert world.submission(first) is world.submission(second) is SubmissionState.FAILED


def test_steps_still_wait_for_expected_partitions_after_another_cancellation(world: World) -> None:
    world.define(lineage("g*2: elsewhere, j: g"))
    first = ask(world, "g", "2024-04-01", "2024-04-02")
    ask(world, "j", "2024-04-01")
    world.cancel(first)
    assert states(world, "elsewhere") == dict.fromkeys(
        ["elsewhere/2024-04-01", "elsewhere/2024-04-02"], State.EXPECTED
    )
    assert needs(world)["g/2024-04-01..2024-04-02"] == {"elsewhere/2024-04-01", "elsewhere/2024-04-02"}
    assert states(world)["g/2024-04-01..2024-04-02"] is State.WAITING


def test_after_several_cancellations_each_partition_was_made_once(world: World) -> None:
    world.define(LINEAGE)
    ids = [ask(world, "j", "2024-04-01", f"2024-04-{last:02}") for last in (3, 7, 12)]
    ids.append(ask(world, "k", "2024-04-10", "2024-04-16"))
    for id_ in (ids[1], ids[0]):
        world.cancel(id_)
    work_off(world)
    assert world.submission(ids[2]) is world.submission(ids[3]) is SubmissionState.SUCCEEDED
    assert set(times_made(world, "g").values()) == set(times_made(world, "s").values()) == {1}


def test_a_submission_wants_the_new_inputs_of_its_revived_step(world: World) -> None:
    world.define(lineage("s*2, g: s"))
    ask(world, "g", "2024-04-01", "2024-04-04")
    end(world, "s/2024-04-01..2024-04-02", Ending.ERROR)
    others = [ask(world, "s", "2024-03-31", "2024-04-01"), ask(world, "g", "2024-04-01")]
    assert needs(world)["g/2024-04-01"] == {"s/2024-03-31..2024-04-01"}
    for id_ in others:
        world.cancel(id_)
    assert states(world)["s/2024-03-31..2024-04-01"] is State.READY
    assert states(world)["g/2024-04-01"] is State.WAITING
