"""A week of four days that has failed, for tests that run parts of it again."""

from typing import Any, Final

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World

_WEEK: Final[dict[str, Any]] = {
    "day": {"job_id": "{day}", "bash_cmd": "true"},
    "week": {
        "job_id": "{week}",
        "autofill_values": {"week": ["w"]},
        "bash_cmd": "true",
        "depends_on": {"app_name": ["day"], "job_id": ["1", "2", "3", "4"]},
    },
}
#: States after a retry of day 1 and of the week: the days that no submission has requested stay as they are.
RETRIED: Final = {
    "day": State.READY,
    "day/2": State.SUCCEEDED,
    "day/3": State.EXPECTED,
    "day/4": State.EXPECTED,
    "week/w": State.WAITING,
}


def failed_week(world: World) -> str:
    """Submit days 1 and 2 of the week. Day 1 fails, and so does the week, which was pushed. Return the submission."""
    world.define(_WEEK)
    submission = world.submit("day", None, keys=["1", "2"])
    world.finish("day/2")
    world.finish("day/1", Ending.ERROR)
    assert world.state("week/w") is State.UPSTREAM_FAILED
    assert world.submission(submission) is SubmissionState.FAILED
    return submission
