"""A submission about work IDs waits unplanned while others have under way what it would run itself."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from sluice.actors.handlers import handle
from sluice.broker.messages import Tick
from sluice.jobs.outcome import Ending
from sluice.jobs.states import State
from sluice.jobs.submission import SubmissionState
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


def test_jobs_that_are_named_are_waited_for_in_place_of_dependencies(world: World) -> None:
    world.define(APPS)
    world.submit("fetch", None, work_ids=[7])
    submission = world.submit("report", None, work_ids=[1, 2, 3, 4], after=[["fetch", "7@1"]])
    assert world.states() == {
        "fetch/7@1": State.READY,
        "report/1-3@2": State.WAITING,
        "report/4@2": State.WAITING,
    }
    world.finish("fetch/7@1")
    world.finish("report/1-3@2")
    world.finish("report/4@2")
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_job_that_is_named_and_has_failed_fails_whoever_waits_for_it(world: World) -> None:
    world.define(APPS)
    world.submit("fetch", None, work_ids=[7])
    world.finish("fetch/7@1", Ending.ERROR)
    submission = world.submit("report", None, work_ids=[1], after=[["fetch", "7@1"]])
    assert world.states()["report/1@2"] is State.UPSTREAM_FAILED
    assert world.submission(submission) is SubmissionState.FAILED


def test_without_any_that_is_named_it_waits_for_nobody(world: World) -> None:
    world.define(APPS)
    world.submit("report", None, work_ids=[1], after=[])
    assert world.states() == {"report/1@1": State.READY}


@pytest.mark.parametrize(
    ("app", "words", "reason"),
    [
        (
            "report",
            {"work_ids": [1], "after": [["fetch", "7@1"]]},
            "It is to wait for fetch/7@1, which there is not.",
        ),
        ("report", {"key": "1@1", "after": []}, "after is for submissions about work IDs."),
        ("plain", {"key": "1", "after": []}, "after is for submissions about work IDs."),
    ],
)
def test_what_is_not_there_cannot_be_waited_for(
    world: World, app: str, words: dict[str, Any], reason: str
) -> None:
    world.define(APPS | {"plain": {"job_id": "{x}", "bash_cmd": "true"}})
    submission = world.submit(app, **({"key": None} | words))
    assert world.submission(submission) is SubmissionState.REFUSED
    assert reason in world.reason(submission)
    assert world.states() == {}


def test_while_one_planner_asks_for_work_ids_no_other_does(world: World) -> None:
    world.define(APPS | {"own": {"chunk_size": 2, "bash_cmd": "true", "select_work": f"{__name__}:choose"}})
    others: list[int] = []

    def meanwhile() -> None:
        world.now += timedelta(seconds=5)
        others.append(len(ASKED))
        world.queue.extend(handle(world.ledger, world.catalogue, Tick()))
        world.deliver()

    ASKED[:] = [meanwhile]
    submission = world.submit("own", None)
    assert world.submission(submission) is SubmissionState.ACTIVE
    assert (ASKED, others) == ([], [0])
    assert world.states() == {"own/4-5@1": State.READY}


#: What happens while work IDs are chosen, each once.
ASKED: list[Callable[[], None]] = []


def choose(**kwargs: object) -> list[int]:
    ASKED.pop()()
    return [4, 5]
