"""A submission about work IDs waits unplanned while others have under way what it would run itself."""

from jobs.states import State
from jobs.submission import SubmissionState
from tests.world import World

REPORT = {"chunk_size": 3, "bash_cmd": "true", "dependencies": [{"job_type": "fetch", "max_lag": "1h"}]}
APPS = {"report": REPORT, "fetch": {"chunk_size": 2, "bash_cmd": "true"}}


def test_it_is_planned_once_that_has_ended_and_finds_it_fresh(world: World) -> None:
    world.define(APPS)
    world.submit("fetch", None, work_ids=[1, 2])
    waiting = world.submit("report", None, work_ids=[1, 2, 3])
    assert world.submission(waiting) is SubmissionState.RECEIVED
    assert world.reason(waiting) == "waits for fetch/1-2@1, which is ready"
    world.finish("fetch/1-2@1")
    world.tick()
    assert world.submission(waiting) is SubmissionState.ACTIVE
    assert world.reason(waiting) == ""
    assert world.states() == {
        "fetch/1-2@1": State.SUCCEEDED,
        "fetch/3@2": State.READY,
        "report/1-3@2": State.WAITING,
    }
    world.finish("fetch/3@2")
    world.finish("report/1-3@2")
    assert world.submission(waiting) is SubmissionState.SUCCEEDED
