"""Submissions of work IDs that stay unplanned while other jobs with the same work are under way."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Tick
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.world import World

REPORT = {"chunk_size": 3, "bash_cmd": "true", "dependencies": [{"job_type": "fetch", "max_lag": "1h"}]}
APPS = {"report": REPORT, "fetch": {"chunk_size": 2, "bash_cmd": "true"}}


def test_a_submission_waits_for_work_under_way_and_then_finds_it_fresh(world: World) -> None:
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


def test_after_replaces_the_dependencies_with_the_named_jobs(world: World) -> None:
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


def test_a_failed_job_that_after_names_fails_the_jobs_that_wait_for_it(world: World) -> None:
    world.define(APPS)
    world.submit("fetch", None, work_ids=[7])
    world.finish("fetch/7@1", Ending.ERROR)
    submission = world.submit("report", None, work_ids=[1], after=[["fetch", "7@1"]])
    assert world.states()["report/1@2"] is State.UPSTREAM_FAILED
    assert world.submission(submission) is SubmissionState.FAILED


def test_an_empty_after_leaves_the_jobs_without_parents(world: World) -> None:
    world.define(APPS)
    world.submit("report", None, work_ids=[1], after=[])
    assert world.states() == {"report/1@1": State.READY}


@pytest.mark.parametrize(
    ("app", "words", "reason"),
    [
        (
            "report",
            {"work_ids": [1], "after": [["fetch", "7@1"]]},
            "The submission must wait for fetch/7@1, which the ledger does not have.",
        ),
        ("report", {"key": "1@1", "after": []}, "after is only for submissions of work IDs."),
        ("plain", {"key": "1", "after": []}, "after is only for submissions of work IDs."),
    ],
)
def test_a_submission_with_an_invalid_after_is_refused(
    world: World, app: str, words: dict[str, Any], reason: str
) -> None:
    world.define(APPS | {"plain": {"job_id": "{x}", "bash_cmd": "true"}})
    submission = world.submit(app, **({"key": None} | words))
    assert world.submission(submission) is SubmissionState.REFUSED
    assert reason in world.reason(submission)
    assert world.states() == {}


def test_only_one_planner_at_a_time_selects_work_ids(world: World) -> None:
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


#: Callbacks that run while work IDs are selected, each once.
ASKED: list[Callable[[], None]] = []


def choose(**kwargs: object) -> list[int]:
    ASKED.pop()()
    return [4, 5]
