"""Stories, played step by step on a real ledger with the real handlers."""

import pytest

from tests.acceptance.stories_of_alternatives import ALTERNATIVES
from tests.acceptance.stories_of_pull_and_push import PULL_AND_PUSH
from tests.acceptance.stories_of_reruns import RERUNS
from tests.acceptance.stories_of_trouble import TROUBLE
from tests.acceptance.story import Story, Teller
from tests.world import World

STORIES: dict[str, Story] = PULL_AND_PUSH | TROUBLE | ALTERNATIVES | RERUNS


@pytest.mark.parametrize("name", STORIES)
def test_each_step_of_a_story_leads_to_the_expected_states(world: World, name: str) -> None:
    told = STORIES[name]
    teller = Teller(world, told.apps)
    for step in told.steps:
        teller.take(step)
    for job, times in told.ran.items():
        assert world.history(job).count("running") == times, f"{job} ran otherwise than {times} times"
    for id, state in told.ends.items():
        assert world.submission(id) is state
