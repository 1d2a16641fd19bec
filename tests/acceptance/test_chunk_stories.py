"""Stories of work by chunk, played step by step on a real ledger with the real handlers."""

from datetime import timedelta

import pytest

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from tests.acceptance.chunk_notation import chunk, definitions
from tests.acceptance.chunk_story import Story, tell
from tests.acceptance.chunked_ledger import freshness, recorded
from tests.acceptance.stories_of_chunks import CANCELLING, FAILING, LOSING
from tests.acceptance.stories_of_freshness import ANY_IDS, REMEMBERING, WAITING
from tests.world import World

STORIES: dict[str, Story] = FAILING | LOSING | CANCELLING | WAITING | REMEMBERING | ANY_IDS


@pytest.mark.parametrize("name", STORIES)
def test_each_step_of_a_story_leads_to_the_expected_states(world: World, name: str) -> None:
    tell(world, STORIES[name])


def test_results_have_the_time_of_the_runs_end_and_count_once_judged(world: World) -> None:
    """The judgement records the results and releases the waiting job in the same step."""
    world.define(definitions("A=2: E; E=2"))
    world.submit("A", None, work_ids="1,2")
    jobs = recorded(world)
    claimed = world.claim(f"E/{jobs[chunk('E[1,2]')].key}")
    assert claimed is not None
    world.now += timedelta(seconds=5)
    ended_at = world.now
    messages, _ = transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    assert recorded(world)[chunk("E[1,2]")].state is State.EXECUTED
    assert recorded(world)[chunk("A[1,2]")].state is State.WAITING
    assert freshness(world) == {}
    world.now += timedelta(seconds=5)
    world.queue.extend(messages)
    world.deliver()
    assert recorded(world)[chunk("A[1,2]")].state is State.READY
    assert freshness(world) == {("E", "", "1"): ended_at, ("E", "", "2"): ended_at}


def test_the_latest_success_counts_even_if_it_is_judged_first(world: World) -> None:
    world.define(definitions("A=1"))
    for _ in range(2):
        world.submit("A", None, work_ids="1")
    outcomes = []
    for job in recorded(world).values():
        claimed = world.claim(f"A/{job.key}")
        assert claimed is not None
        world.now += timedelta(seconds=5)
        outcomes.append(transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})[0])
    ended_at = world.now
    for messages in reversed(outcomes):
        world.queue.extend(messages)
        world.deliver()
    assert freshness(world) == {("A", "", "1"): ended_at}
