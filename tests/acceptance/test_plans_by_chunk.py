"""Plans of submissions about work IDs: all cases on given facts, one case of each shape on a real ledger."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.jobs.keys.work_ids import WorkId
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.acceptance.chunk_notation import (
    Chunk,
    Graph,
    Job,
    ages,
    ages_of_runs,
    assert_same,
    chunks,
    definitions,
    facts,
    graph,
    numbered,
    words,
)
from tests.acceptance.chunked_ledger import planned, recorded, remember
from tests.acceptance.command_typist import Clerk
from tests.acceptance.plans_by_chunk import CUTS, KWARGS, SHAPES, Case
from tests.acceptance.plans_by_freshness import ANY_IDS, CHUNKS, LAGS
from tests.world import World

CASES: dict[str, Case] = CUTS | SHAPES | KWARGS | LAGS | CHUNKS | ANY_IDS
NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: Cases that differ in the rows that the ledger has to store or to look up.
ON_LEDGER = [
    "the example of the README",  # Several apps with results of different ages.
    "runs with gaps",
    "numbers below zero",
    "runs among texts",
    "the app selects by a kwarg of the submission",  # The submission's kwargs choose the work IDs.
    "kwargs from default_work_ids replace the given kwargs",
    "a unique dependency of two apps is not shared",  # Two jobs of one app with the same work IDs.
    "a dependency with different kwargs on two paths has two jobs",  # Jobs of one app with different kwargs.
    "two hundred deep",
    "a millisecond older",  # The precision of stored times.
    "one chunk of a graph is fresh, the other is not",  # Ages of several chunks of one app.
    "it ran on other IDs only",  # The last submission of an app, without results for the work IDs.
    "it ran only as a dependency of another app",  # Results for work IDs, without a submission.
]


@pytest.mark.parametrize("name", CASES)
def test_a_plan_on_given_facts_has_the_expected_jobs(clerk: Clerk, name: str) -> None:
    told = CASES[name]
    facts_of_case = json.dumps(facts(told.known, told.ran, NOW))
    known = ("--facts", clerk.writes("facts.json", facts_of_case), "--now", NOW.isoformat())
    source = clerk.defines(definitions(told.apps))
    assert_as_told(clerk.asks("--apps", source, "plan", *options_of(told), *known), told)


@pytest.mark.parametrize("name", ON_LEDGER)
def test_a_plan_on_the_ledger_and_its_submission_have_the_expected_jobs(
    office: Clerk, world: World, name: str
) -> None:
    told = CASES[name]
    world.define(definitions(told.apps))
    remember(world, ages(told.known), ages_of_runs(told.ran))
    source = office.defines(world.defined)
    now = ("--now", world.now.isoformat())
    assert_as_told(office.asks("--apps", source, "plan", *options_of(told), *now), told)
    app, ids = _asked(told)
    submission = world.submit(app, None, work_ids=ids, kwargs=words(told.given))
    assert world.submission(submission) is SubmissionState.ACTIVE
    assert_same(planned(world), _graph(told))
    for job in recorded(world).values():
        assert job.state is (State.WAITING if job.needs else State.READY)


def test_without_given_runs_the_latest_success_on_any_id_counts(clerk: Clerk) -> None:
    told = Case("A=2: B(any); B=2", "A 1,2", "A[1,2]", fresh="B[1,2]")
    fresh = facts("B[7] 60m; B[8] 70m", "", NOW)["freshness"]
    known = ("--facts", clerk.writes("facts.json", json.dumps({"freshness": fresh})))
    source = clerk.defines(definitions(told.apps))
    options = ("--apps", source, "plan", *options_of(told), *known, "--now")
    assert_as_told(clerk.asks(*options, NOW.isoformat()), told)
    document = clerk.asks(*options, (NOW + timedelta(seconds=1)).isoformat())
    assert [job["app"] for job in document["jobs"]] == ["B", "A"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"freshness": {"C": {"1": "2026-01-01"}}}, "There is no app 'C'"),
        ({"freshness": {"B": {"1": "lately"}}}, "'lately' is not a time"),
        ({"fresh": {}}, "unknown field `fresh`"),
        ({"active": [{"app": "B", "work_ids": [1.5]}]}, "1.5 is no work ID"),
        ({"jobs": [{"app": "B", "key": "1", "state": "done"}]}, "Invalid enum value 'done'"),
    ],
)
def test_invalid_facts_are_refused_with_their_fault(clerk: Clerk, given: dict[str, Any], words: str) -> None:
    source = clerk.defines(definitions("A=2: B; B=2"))
    known = ("--facts", clerk.writes("facts.json", json.dumps(given)))
    said = clerk.types("--apps", source, "plan", "A", "--work-ids", "1", *known)
    assert (said.code, words in said.err) == (2, True), said.err


def assert_as_told(document: Mapping[str, Any], told: Case) -> None:
    """Check the plan. Each job is listed after the jobs it needs, and is ready if it needs none."""
    names = dict(zip((job["ref"] for job in document["jobs"]), _named(document["jobs"]), strict=True))
    found: Graph = {}
    for job in document["jobs"]:
        needs = [names[ref] for gate in job["gates"] for ref in gate["needs"]]
        assert all(need in found for need in needs), f"{job['ref']} is listed before a job that it needs"
        assert job["state"] == ("waiting" if needs else "ready")
        found[names[job["ref"]]] = Job(frozenset(needs), job["kwargs"])
    assert_same(found, _graph(told))
    assert document["waits_for"] == document["errors"] == []
    assert sorted(_named(document["satisfied"])) == sorted(chunks(told.fresh))
    assert all(each["why"].startswith("fresh: ") for each in document["satisfied"])


def _graph(told: Case) -> Graph:
    return graph(told.jobs, words(told.given), told.kwargs)


def _asked(told: Case) -> tuple[str, list[WorkId] | str | None]:
    """Return the app and its work IDs as another program sends them: a list stays a list."""
    app, _, ids = told.asked.partition(" ")
    return app, json.loads(ids) if ids.startswith("[") else ids or None


def options_of(told: Case) -> Iterator[str]:
    """Yield the words of the command line."""
    app, _, ids = told.asked.partition(" ")
    yield app
    if ids:
        yield f"--work-ids={ids}"
    if told.given:
        yield f"--kwargs={json.dumps(words(told.given))}"


def _named(jobs: Iterable[Mapping[str, Any]]) -> list[Chunk]:
    return [*numbered((job["app"], tuple(job["work_ids"])) for job in jobs)]
