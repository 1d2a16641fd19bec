"""Plans of submissions about partitions: all cases on given facts, one case of each shape on a real ledger."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sluice.actors.planner.landed_partitions import land
from sluice.jobs.keys.partitions import ends_of
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.acceptance.command_typist import Clerk
from tests.acceptance.partition_notation import (
    Graph,
    Step,
    asked,
    definitions,
    facts,
    graph,
    steps,
    told,
)
from tests.acceptance.plans_by_partition import ANEW, EXAMPLES, READING, SHARED, STEPS, Case
from tests.world import World

CASES: dict[str, Case] = EXAMPLES | STEPS | SHARED | READING | ANEW
#: Cases that differ in the rows that the ledger has to store or to look up.
ON_LEDGER = [
    "a join over a grouping over ninety days",
    "existing partitions of some tables make steps shorter",  # Existing partitions of several tables.
    "all requested partitions exist",  # No job.
    "steps in progress are joined, and the other partitions are made",
    "the same submission again",  # No job of its own, and a step that it waits for.
    "a table that is filled outside of Sluice, with a gap",  # Partitions that have to land.
    "the latest partition of a cumulative table is too old",
    "all existing partitions of a table",  # The first and the last existing partition of a table.
    "a downstream rerun also makes dependent partitions again",  # The partitions already exist.
]
_JOBS = """
SELECT child.app, child.key, child.state, parent.app, parent.key
FROM job child LEFT JOIN need ON need.child = child.id LEFT JOIN job parent ON parent.id = need.parent
"""


@pytest.mark.parametrize("name", CASES)
def test_a_plan_on_given_facts_has_the_expected_jobs(clerk: Clerk, name: str) -> None:
    case = CASES[name]
    known = clerk.writes("facts.json", json.dumps(facts(case.there, case.active)))
    source = clerk.defines(definitions(case.apps))
    assert_as_told(clerk.asks("--apps", source, "plan", *options_of(case), "--facts", known), case)


@pytest.mark.parametrize("name", ON_LEDGER)
def test_a_plan_on_the_ledger_and_its_submission_have_the_expected_jobs(
    office: Clerk, world: World, name: str
) -> None:
    case = CASES[name]
    world.define(definitions(case.apps))
    come_about(world, case)
    source = office.defines(world.defined)
    assert_as_told(office.asks("--apps", source, "plan", *options_of(case)), case)
    before = recorded(world)
    app, start, end = asked(case.asked)
    submission = world.submit(app, None, start=start, end=end, rerun=case.rerun)
    found = {step: needs for step, needs in recorded(world).items() if step not in before}
    assert found == expected(case)
    is_busy = bool(case.jobs or case.joined)
    assert world.submission(submission) is (SubmissionState.ACTIVE if is_busy else SubmissionState.SUCCEEDED)


def test_the_example_has_the_expected_numbers_of_jobs_and_needs() -> None:
    jobs = expected(EXAMPLES["a join over a grouping over ninety days"])
    assert Counter(job.name for job in jobs) == {"S": 120, "G": 5, "J": 30}
    assert Counter(job.name for job, needs in jobs.items() for _ in needs) == {"G": 480, "J": 30}


def test_half_a_year_is_cut_into_weeks(clerk: Clerk) -> None:
    source = clerk.defines(definitions("G=7"))
    known = ("--facts", clerk.writes("facts.json", "{}"))
    document = clerk.asks(
        "--apps", source, "plan", "G", "--start", "2024-01-01", "--end", "2024-06-28", *known
    )
    spans = [job["span"] for job in document["jobs"]]
    assert (len(spans), spans[-1]) == (26, ["2024-06-24", "2024-06-28"])


def test_the_state_of_a_given_job_decides_whether_its_partitions_exist(clerk: Clerk) -> None:
    source = clerk.defines(definitions("G=7; J=30: G"))
    states = {
        "2024-04-01..2024-04-02": State.SUCCEEDED,
        "2024-04-03": State.RUNNING,
        "2024-04-04": State.FAILED,
        "2024-04-05": State.EXPECTED,
    }
    jobs = [{"app": "G", "key": key, "state": state} for key, state in states.items()]
    known = clerk.writes("facts.json", json.dumps({"jobs": jobs}))
    document = clerk.asks("--apps", source, "plan", "J", "2024-04-01..2024-04-05", "--facts", known)
    assert graph_of(document) == graph(
        "G[04-04..04-05]; J[04-01..04-05] <- G[04-03..04-05]", steps("G[04-03]")
    )
    assert told(document["satisfied"]) == set(steps("G[04-01..04-02]"))


def test_existing_partitions_of_a_step_in_progress_are_not_made(clerk: Clerk) -> None:
    """This happens if a job has acknowledged some of its partitions. A partition of both given steps belongs to the
    step that is listed first."""
    source = clerk.defines(definitions("G=7"))
    given = facts("G[04-01..04-03]", "G[04-01..04-05] G[04-04..04-07]")
    known = clerk.writes("facts.json", json.dumps(given))
    document = clerk.asks("--apps", source, "plan", "G", "2024-04-01..2024-04-08", "--facts", known)
    assert graph_of(document) == graph("G[04-08]")
    assert told(document["satisfied"]) == set(steps("G[04-01..04-03]"))
    assert told(document["waits_for"]) == set(steps("G[04-01..04-05] G[04-04..04-07]"))


def test_a_service_is_planned_as_one_job_that_must_be_running(clerk: Clerk) -> None:
    stream = {"job_type": "sluice.jobs.managers:LocalProcess", "partition": "day"}
    apps = {**definitions("G: stream"), "stream": stream | {"is_long_running": True}}
    words = ("--apps", clerk.defines(apps), "plan", "G", "2024-04-01", "--facts")
    new = clerk.asks(*words, clerk.writes("facts.json", "{}"))
    jobs = [(job["ref"], job["key"].partition("@")[0], job["state"], job["gates"]) for job in new["jobs"]]
    gate = {"name": "default", "needs": ["stream#1"], "when": {"stream#1": "running"}}
    assert jobs == [
        ("stream#1", "running", State.READY, []),
        ("G#1", "2024-04-01", State.WAITING, [gate]),
    ]
    running = clerk.asks(*words, clerk.writes("facts.json", json.dumps({"active": [{"app": "stream"}]})))
    assert [(job["ref"], job["state"]) for job in running["jobs"]] == [("G#1", State.READY)]
    assert [(job["ref"], job["state"]) for job in running["waits_for"]] == [("stream#1", State.RUNNING)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"partitions": {"T": ["2024-04-01"]}}, "No app fills or reads a table 'T'"),
        ({"partitions": {"G": ["2024-04-31"]}}, "at G, '2024-04-31' is no day"),
        ({"active": [{"app": "G"}]}, "its span is missing"),
        ({"active": [{"app": "G", "span": ["2024-04-02", "2024-04-01"]}]}, "ends before it begins"),
        ({"jobs": [{"app": "G", "key": "2024-4-1", "state": "running"}]}, "is not a key of G"),
    ],
)
def test_invalid_facts_are_refused_with_their_fault(clerk: Clerk, given: dict[str, Any], words: str) -> None:
    source = clerk.defines(definitions("G"))
    known = ("--facts", clerk.writes("facts.json", json.dumps(given)))
    said = clerk.types("--apps", source, "plan", "G", "2024-04-01", *known)
    assert (said.code, words in said.err) == (2, True), said.err


def test_the_text_of_a_plan_lists_jobs_and_partitions(clerk: Clerk) -> None:
    source = clerk.defines(definitions("G=7: events; J=7: G"))
    given = facts("events[04-01..04-07]", "")
    known = clerk.writes("facts.json", json.dumps(given))
    said = clerk.reads("--apps", source, "plan", "J", "2024-04-01..2024-04-14", "--facts", known)
    assert said == [
        "job  key                     state    after",
        "G#1  2024-04-01..2024-04-07  ready",
        "G#2  2024-04-08..2024-04-14  waiting  events/2024-04-08 … 2024-04-14 (7)",
        "J#1  2024-04-01..2024-04-07  waiting  G#1",
        "J#2  2024-04-08..2024-04-14  waiting  G#2",
        "events 2024-04-08..2024-04-14 is awaited (has not landed)",
        "events 2024-04-01..2024-04-07 need not run (it has landed)",
        "4 jobs would run.",
        "Critical path: G#1 -> J#1 (2 jobs).",
        "Widest level: 2 jobs, which can run at once.",
    ]


def assert_as_told(document: Mapping[str, Any], case: Case) -> None:
    """Check the plan. A job is ready if it needs nothing, and waits otherwise."""
    found = graph_of(document)
    assert found == expected(case)
    for job in document["jobs"]:
        assert job["state"] == (State.WAITING if found[_step(job)] else State.READY)
    assert told(document["satisfied"]) == set(steps(case.spared))
    assert told(document["waits_for"]) == {*steps(case.joined), *steps(case.awaited)}
    assert document["errors"] == []


def graph_of(document: Mapping[str, Any]) -> Graph:
    by_reference = {job["ref"]: _step(job) for job in document["waits_for"] if "ref" in job}
    found: Graph = {}
    for job in document["jobs"]:
        (needs,) = [gate["needs"] for gate in job["gates"]] or [[]]
        found[_step(job)] = frozenset(by_reference.get(need) or _to_land(need) for need in needs)
        by_reference[job["ref"]] = _step(job)
    return found


def expected(case: Case) -> Graph:
    return graph(case.jobs, [*steps(case.joined), *steps(case.awaited)])


def come_about(world: World, case: Case) -> None:
    """Bring the ledger to the state in which the case begins."""
    for each in steps(case.there):
        land(world.ledger, world.catalogue, each.name, [f"{each.first}..{each.last}"])
    for each in steps(case.active):
        world.submit(each.name, None, start=each.first, end=each.last)


def recorded(world: World) -> Graph:
    """Return the steps in the ledger, with the steps they need."""
    found: dict[Step, set[Step]] = {}
    states: dict[Step, str] = {}
    for app, key, state, parent, of_parent in world.ledger.transact(lambda tx: tx.rows(_JOBS)):
        step = _named(app, key)
        found.setdefault(step, set())
        states[step] = state
        if parent:
            found[step].add(_named(parent, of_parent))
    for step in [step for step, state in states.items() if state == State.EXPECTED]:
        assert step.name not in world.catalogue
        del found[step]
    assert all(states[step] == (State.WAITING if needs else State.READY) for step, needs in found.items())
    return {step: frozenset(needs) for step, needs in found.items()}


def recorded_states(world: World) -> dict[str, tuple[Step, State]]:
    """Return the steps and their states by ``app/key``."""
    return {name: (_named(*name.split("/")), state) for name, state in world.states().items()}


def options_of(case: Case) -> Iterator[str]:
    app, start, end = asked(case.asked)
    yield from (app, "--start", start, "--end", end)
    if case.rerun:
        yield from ("--rerun", case.rerun)


def _step(job: Mapping[str, Any]) -> Step:
    return Step(job["app"], *job["span"])


def _to_land(need: str) -> Step:
    return _named(*need.split("/"))


def _named(app: str, key: str) -> Step:
    ends = ends_of(key)
    assert ends is not None
    return Step(app, *ends)
