"""Starts in a graph: the same jobs run once each, whichever jobs are submitted and in however many messages."""

import pytest

from tests.acceptance.starts import STARTS, STARTS_OF_SEVERAL, Start
from tests.acceptance.story import Teller, states
from tests.world import World

ONE_MESSAGE, ONE_EACH, ONE_BY_ONE = "in one message", "in a message each", "one after the other has ended"


CASES = [(start, ONE_MESSAGE) for start in STARTS] + [
    (start, manner) for start in STARTS_OF_SEVERAL for manner in (ONE_MESSAGE, ONE_EACH, ONE_BY_ONE)
]


def _named(value: Start | str) -> str:
    return value if isinstance(value, str) else f"{value.wanted}, {value.push} [{value.apps}]"


@pytest.mark.parametrize(("start", "manner"), CASES, ids=_named)
def test_the_same_jobs_run_wherever_in_the_graph_a_submission_starts(
    world: World, start: Start, manner: str
) -> None:
    teller = Teller(world, start.apps)
    for jobs in [start.wanted] if manner == ONE_MESSAGE else start.wanted.split():
        teller.do(f"submit {jobs} push={start.push}")
        if manner == ONE_BY_ONE:
            teller.work_off()
    teller.work_off()
    found = world.states()
    ran = {job for job in found if world.history(job).count("running") == 1}
    assert ran == set(start.ran.split())
    assert found == states(f"succeeded {start.ran}") | states(start.left)
