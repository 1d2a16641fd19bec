"""Submissions about work IDs that wait, have no work IDs or are refused: in ``sluice plan`` and on a real ledger."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.jobs.keys.work_ids import text_of
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, State
from tests.acceptance.chunk_notation import ages, ages_of_runs, chunks, definitions, facts
from tests.acceptance.chunked_ledger import recorded, remember
from tests.acceptance.command_typist import Clerk
from tests.acceptance.plans_that_wait import NOTHING, REFUSED, WAITS, Wait
from tests.world import World

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UNDER_WAY = "the dependency is in progress"
#: Pairs of a state and a case: each state once, and each form of a key once.
AS_JOBS = [
    *((state, UNDER_WAY) for state in (State.WAITING, State.READY, State.RUNNING)),
    (State.READY, "the dependency is in progress on some of the IDs and on other IDs"),
    (State.READY, "the dependency is in progress on texts"),
    (State.READY, "the dependency is in progress on other IDs only"),
    (State.READY, "two dependencies are in progress"),
]
#: Cases that differ in the rows that the ledger has to store or to look up.
ON_LEDGER = [
    UNDER_WAY,
    "the dependency is in progress on some of the IDs and on other IDs",
    "the dependency is in progress on IDs in the gaps of a run",
    "the dependency is in progress on texts",
    "two dependencies are in progress",
    "the dependency is in progress, but need not run, because it ran on any IDs",
    "the dependency is in progress on its fresh chunk, and not on its stale chunk",
    "the requested app itself is in progress, and runs again",
]


@pytest.mark.parametrize("name", WAITS)
def test_a_submission_waits_for_given_chunks_in_progress(clerk: Clerk, name: str) -> None:
    told = WAITS[name]
    active = [{"app": busy.app, "work_ids": [*busy.ids]} for busy in chunks(told.busy)]
    assert_as_told(asked(clerk, told, {"active": active}), told)


@pytest.mark.parametrize(("state", "name"), AS_JOBS)
def test_a_given_job_is_in_progress_by_its_state(clerk: Clerk, state: State, name: str) -> None:
    told = WAITS[name]
    jobs = [{"app": busy.app, "key": f"{text_of(busy.ids)}@7", "state": state} for busy in chunks(told.busy)]
    document = asked(clerk, told, {"jobs": jobs})
    assert_as_told(document, told)
    assert all(each["state"] == state for each in document["waits_for"])


def test_finished_jobs_are_not_waited_for(clerk: Clerk) -> None:
    """They are not fresh either: only the given facts determine freshness."""
    finished = [
        {"app": "B", "key": f"1-2@{number}", "state": state}
        for number, state in enumerate(sorted({*State} - LIVE), start=1)
    ]
    document = asked(clerk, WAITS[UNDER_WAY], {"jobs": finished})
    assert [job["app"] for job in document["jobs"]] == ["B", "A"]
    assert document["waits_for"] == []


def test_an_app_in_progress_on_unknown_work_ids_is_waited_for(clerk: Clerk) -> None:
    told = WAITS["the dependency is in progress on other IDs only"]
    document = asked(clerk, told, {"active": [{"app": "B"}]})
    assert ([each["app"] for each in document["waits_for"]], document["jobs"]) == (["B"], [])


@pytest.mark.parametrize("name", ON_LEDGER)
def test_a_submission_waits_for_chunks_in_progress_in_the_ledger(
    office: Clerk, world: World, name: str
) -> None:
    told = WAITS[name]
    world.define(definitions(told.apps))
    for busy in chunks(told.busy):
        world.submit(busy.app, None, work_ids=[*busy.ids])
    remember(world, ages(told.known), ages_of_runs(told.ran))
    before = recorded(world)
    source = ("--apps", office.defines(world.defined))
    now = ("--now", world.now.isoformat())
    assert_as_told(office.asks(*source, "plan", *typed(told.asked), *now), told)
    app, _, ids = told.asked.partition(" ")
    submission = world.submit(app, None, work_ids=ids)
    if not told.waits_for:
        assert world.submission(submission) is SubmissionState.ACTIVE
        assert len(recorded(world)) > len(before)
        return
    assert world.submission(submission) is SubmissionState.RECEIVED
    assert recorded(world) == before
    awaited = [f"{job.app}/{before[job].key}" for job in before if job.app in told.waits_for.split()]
    reason = world.reason(submission)
    assert any(reason.startswith(f"waits for {job}, which is ready") for job in awaited), reason


@pytest.mark.parametrize("name", NOTHING)
def test_without_work_ids_a_submission_is_cancelled(office: Clerk, world: World, name: str) -> None:
    apps, words = NOTHING[name]
    world.define(definitions(apps))
    source = ("--apps", office.defines(world.defined))
    document = office.asks(*source, "plan", "A", *as_options(words))
    assert (document["jobs"], document["waits_for"]) == ([], [])
    assert [each["app"] for each in document["errors"]] == ["A"]
    assert "there are no work IDs" in document["errors"][0]["what"]
    submission = world.submit("A", None, **words)
    assert world.submission(submission) is SubmissionState.CANCELLED
    assert world.reason(submission) == "There are no work IDs: A has nothing to do."
    assert recorded(world) == {}


@pytest.mark.parametrize("name", REFUSED)
def test_a_submission_without_usable_work_ids_is_refused(office: Clerk, world: World, name: str) -> None:
    apps, words, says = REFUSED[name]
    world.define(definitions(apps))
    said = office.types("--apps", office.defines(world.defined), "plan", "A", *as_options(words))
    assert (said.code, says in said.err) == (2, True), said.err
    submission = world.submit("A", **{"key": None, **words})
    assert world.submission(submission) is SubmissionState.REFUSED
    assert says in world.reason(submission)
    assert recorded(world) == {}


def asked(clerk: Clerk, told: Wait, given: Mapping[str, Any]) -> Any:
    written = clerk.writes("facts.json", json.dumps({**given, **facts(told.known, told.ran, NOW)}))
    source = clerk.defines(definitions(told.apps))
    options = ("--facts", written, "--now", NOW.isoformat())
    return clerk.asks("--apps", source, "plan", *typed(told.asked), *options)


def assert_as_told(document: Mapping[str, Any], told: Wait) -> None:
    assert sorted({each["app"] for each in document["waits_for"]}) == told.waits_for.split()
    assert (document["jobs"] == []) is bool(told.waits_for)


def typed(asked: str) -> Iterator[str]:
    app, _, ids = asked.partition(" ")
    yield from (app, "--work-ids", ids)


def as_options(words: Mapping[str, Any]) -> Iterator[str]:
    """Yield a submission's fields as options of the command line."""
    for word, value in words.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield from [text] if word == "key" else [f"--{word.replace('_', '-')}={text}"]
