"""Rounds: the standing of a job after each step, and the exact keys of its record."""

from datetime import datetime
from itertools import groupby

import pytest

from sluice.actors.client import Client
from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.reads import job_details
from tests.acceptance.round_script import Stage, Story, lines
from tests.acceptance.stories_of_rounds import STORIES
from tests.world import World

_OK = Outcome(ending=Ending.DONE)


@pytest.mark.parametrize("story", STORIES, ids=[story.title for story in STORIES])
def test_each_step_leads_to_the_expected_standing_and_record(world: World, story: Story) -> None:
    stage = Stage(world, story.policy)
    known: set[str] = set()
    for line in lines(story.script):
        stage.plays(line.step)
        known |= line.gained
        assert (stage.standing(), set(stage.report().record)) == (line.standing, known), line.step


def test_each_round_keeps_its_output(world: World) -> None:
    stage = Stage(world, {"max_fails": 1})
    for step in ("submit", "claim", "ends fail", "judged"):
        stage.plays(step)
    record = stage.report().record
    assert (record["0:output"], record["0:error"]) == ("out\n", "boom\n")
    assert record.round == 1
    assert (record.current("output"), record.newest("output"), record.newest("nonsense")) == (
        None,
        "out\n",
        None,
    )
    for step in ("claim w2", "ends ok w2", "judged"):
        stage.plays(step)
    record = stage.report().record
    assert (record["0:error"], record["1:error"], record.newest("error")) == ("boom\n", "", "")
    assert isinstance(record["1:running"], datetime)
    assert [*record][:6] == ["0:open", "0:running", "0:worker", "0:output", "0:error", "0:executed"]


@pytest.mark.parametrize(
    ("policy", "steps", "ending"),
    [
        ({"end_before": 5}, "claim, after 9, late ok", "expired"),
        ({}, "claim, cancel, late ok", "cancelled"),
        ({"timeout": 1}, "claim, after 9, late ok", "timed out"),
        ({"max_losses": 0}, "claim, lost, late ok", "lease lost"),
        ({"end_before": 5, "max_fails": 1}, "claim, ends fail, judged, after 9", "error"),
    ],
)
def test_a_round_that_was_cut_short_has_an_ending_and_a_time(
    world: World, policy: dict[str, object], steps: str, ending: str
) -> None:
    stage = Stage(world, policy)
    for step in ("submit", *steps.split(", ")):
        stage.plays(step)
    job = world.known("a").id
    (told,) = world.ledger.transact(lambda tx: job_details.rounds(tx, job))
    assert told.ending == ending
    assert told.executed_at is not None


def test_a_failure_without_stderr_has_the_error_of_its_outcome(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a", Ending.ERROR)
    report = Client(world.ledger, lambda messages: None).job("a", "1")
    assert report is not None
    assert report.record["0:error"] == "it broke"


def test_the_log_of_three_rounds_that_fail_has_fifteen_lines(world: World) -> None:
    stage = Stage(world, {"max_fails": 2})
    for step in ("submit", *("claim", "ends fail", "judged") * 3):
        stage.plays(step)
    a_round = [
        "moving task a/1: open -> running",
        "executing task a/1: round {} on test:1",
        "moving task a/1: running -> executed",
        "moving task a/1: executed -> failure",
        "moving task a/1: failure -> {}",
    ]
    said = [
        text.format(number if "executing" in text else end)
        for number, end in enumerate(("open", "open", "failed"))
        for text in a_round
    ]
    assert stage.report().log == tuple(f"2026-01-01 00:00:00 - {text}" for text in said)


@pytest.mark.parametrize(
    ("policy", "steps", "said"),
    [
        ({}, "claim, ends ok, judged", "open running executed succeeded"),
        ({"timeout": 1}, "claim, ends over", "open running timeout timed_out"),
        ({"timeout": 1, "max_timeouts": 1}, "claim, after 9, after 1", "open running timeout open"),
        ({"max_losses": 1}, "claim, lost", "open running lost open"),
        ({"max_losses": 0}, "claim, lost", "open running lost failed"),
        ({}, "claim, ends back", "open running open"),
        ({"end_before": 5}, "claim, after 9", "open running expired"),
        ({"end_before": 5, "timeout": 1}, "claim, unseen 9, ends over", "open running expired"),
        (
            {"end_before": 5, "timeout": 1, "max_timeouts": 1},
            "claim, unseen 9, ends over",
            "open running expired",
        ),
        ({"start_after": 5}, "after 6", ""),
    ],
)
def test_the_log_has_every_transition_in_order(
    world: World, policy: dict[str, object], steps: str, said: str
) -> None:
    stage = Stage(world, policy)
    stage.plays("submit")
    for step in steps.split(", "):
        stage.plays(step)
    moves = [line.partition("a/1: ")[2].split(" -> ") for line in stage.report().log if "moving" in line]
    path = [word for word, _ in groupby(word for move in moves for word in move)]
    assert " ".join(path) == said


def test_a_rerun_begins_a_new_record_and_continues_the_log(world: World) -> None:
    stage = Stage(world, {})
    for step in ("submit", "claim", "ends fail", "judged", "submit again"):
        stage.plays(step)
    report = stage.report()
    assert set(report.record) == {"0:open"}
    assert report.log[-1].endswith("a/1: failed -> open")
    for step in ("claim w2", "ends ok w2", "judged"):
        stage.plays(step)
    assert stage.report().record["0:error"] == ""
    assert len(stage.report().log) == 5 + 1 + 4


def test_twelve_jobs_are_claimed_in_the_order_of_submission(world: World) -> None:
    world.apps("a")
    keys = [str(number) for number in range(1, 13)]
    for key in keys:
        world.submit("a", key)
    assert _claimed(world) == keys


@pytest.mark.parametrize("starts", [(9, 5, 3), (5, 9, 3)], ids=str)
def test_jobs_are_claimed_in_the_order_of_their_start_times(world: World, starts: tuple[int, ...]) -> None:
    world.apps("a")
    for start in starts:
        world.submit("a", str(start), policy={"start_after": start})
    assert _claimed(world) == ["3", "5", "9"]


def test_jobs_of_a_pool_get_slots_in_order_of_their_start_times(world: World) -> None:
    world.apps("a", concurrency=1)
    for start in (2, 5, 3, 9):
        world.submit("a", str(start), policy={"start_after": start})
    for key in ("2", "3", "5", "9"):
        assert world.ready() == {f"a/{key}"}
        world.finish(f"a/{key}")


def test_a_retried_job_is_claimed_after_a_job_that_was_not_tried(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a", "again")
    world.submit("a", "new")
    hint = world.offered.pop(0)
    (job,), _ = transactions.claim(world.ledger, world.catalogue, hint, world.worker)
    assert job.key == "again"
    assert world.record(job, Ending.ERROR, error="it broke")
    assert _claimed(world) == ["new", "again"]


def test_five_hundred_executed_jobs_are_judged_in_one_tick(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=[str(number) for number in range(500)])
    while world.offered:
        message = world.offered.pop(0)
        jobs, _ = transactions.claim(world.ledger, world.catalogue, message, world.worker)
        transactions.record(world.ledger, {job.right: _OK for job in jobs})
    assert set(world.states().values()) == {State.EXECUTED}
    world.tick(after_s=11)
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_a_job_that_is_not_in_the_ledger_has_no_report(world: World) -> None:
    assert Client(world.ledger, lambda messages: None).job("a", "1") is None


def _claimed(world: World) -> list[str]:
    """Return the keys in the order in which one worker claims them, notification by notification."""
    keys: list[str] = []
    while world.offered:
        message = world.offered.pop(0)
        jobs, _ = transactions.claim(world.ledger, world.catalogue, message, world.worker)
        keys += [job.key for job in jobs]
    return keys
