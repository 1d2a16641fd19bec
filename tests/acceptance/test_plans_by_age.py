"""``sluice plan`` with inputs that may be too old, on given facts and at a given time."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from tests.acceptance.command_typist import Clerk

NOW = "2026-01-01T12:00:00Z"
#: ``c`` needs ``b``, which needs ``a``, each at most six hours old. ``e`` has two alternatives, and ``f`` an input that
#: always runs again.
APPS = {
    "a": {"job_id": "{x}"},
    "b": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "max_lag": "6h"}},
    "c": {"job_id": "{x}", "depends_on": {"app_name": ["b"], "max_lag": "6h"}},
    "e": {
        "job_id": "{x}",
        "depends_on": {"one": {"app_name": ["a"], "max_lag": "6h"}, "other": {"app_name": ["b"]}},
    },
    "f": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "max_lag": 0}},
}


class Case(NamedTuple):
    """Submission with its expected plan. ``known`` has the states of jobs, and the time of day since when. ``jobs`` has
    the jobs that would run, with the jobs they wait for and the reason to run again. ``satisfied`` has the jobs that
    need not run, with the reason."""

    known: dict[str, str]
    asked: str
    jobs: dict[str, str]
    satisfied: Mapping[str, str] = {}


FRESH = "fresh: last ran 6 h 0 min ago, max_lag 6 h 0 min"
CASES = {
    "just as old as it may be": Case({"a": "succeeded 06:00:00"}, "b", {"b": "ready after "}, {"a": FRESH}),
    "a second older": Case(
        {"a": "succeeded 05:59:59"},
        "b",
        {"a": "ready after ; stale: last ran 6 h 0 min ago", "b": "waiting after a#1"},
    ),
    "a stale input and its own stale input run again": Case(
        {"a": "succeeded 05:00:00", "b": "succeeded 05:00:00"},
        "c",
        {
            "a": "ready after ; stale: last ran 7 h 0 min ago",
            "b": "waiting after a#1; stale: last ran 7 h 0 min ago",
            "c": "waiting after b#1",
        },
    ),
    "a stale input of a fresh input does not run again": Case(
        {"a": "succeeded 01:00:00", "b": "succeeded 06:00:00"}, "c", {"c": "ready after "}, {"b": FRESH}
    ),
    "a state without a time counts as new": Case(
        {"a": "succeeded"}, "b", {"b": "ready after "}, {"a": "succeeded: the ledger has it"}
    ),
    "an input with max_lag 0 runs again even if it is new": Case(
        {"a": "succeeded"}, "f", {"a": "ready after ; stale: it always runs", "f": "waiting after a#1"}
    ),
    "a succeeded job does not run again if its inputs are stale": Case(
        {"a": "succeeded 01:00:00", "b": "succeeded 02:00:00"}, "b", {}, {"b": "succeeded: the ledger has it"}
    ),
    "a rerun of a succeeded job also runs its stale inputs again": Case(
        {"a": "succeeded 01:00:00", "b": "succeeded 02:00:00"},
        "b --rerun job",
        {"a": "ready after ; stale: last ran 11 h 0 min ago", "b": "waiting after a#1"},
    ),
    "a satisfied alternative is preferred to a stale alternative": Case(
        {"a": "succeeded 01:00:00", "b": "succeeded 02:00:00"},
        "e",
        {"e": "ready after one: a/1 | other: "},
        {
            "a": "stale: last ran 11 h 0 min ago, but it is not requested",
            "b": "succeeded: the ledger has it",
        },
    ),
    "a stale alternative is preferred to an alternative that never ran": Case(
        {"a": "succeeded 01:00:00"},
        "e",
        {"a": "ready after ; stale: last ran 11 h 0 min ago", "e": "waiting after one: a#1 | other: b/1"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_reruns_only_inputs_that_are_too_old(clerk: Clerk, name: str) -> None:
    told = CASES[name]
    source, (app, *options) = clerk.defines(APPS), told.asked.split()
    facts = clerk.writes("facts.json", json.dumps({"jobs": [fact(*each) for each in told.known.items()]}))
    known = ("--facts", facts, "--now", NOW)
    document = clerk.asks("--apps", source, "plan", app, "1", "--push", "wanted", *options, *known)
    assert {job["app"]: in_words(job) for job in document["jobs"]} == told.jobs
    assert {job["app"]: job["why"] for job in document["satisfied"]} == told.satisfied
    assert document["waits_for"] == document["errors"] == []


def test_the_text_of_a_plan_names_jobs_that_run_again_and_why(clerk: Clerk) -> None:
    source = clerk.defines(APPS)
    facts = clerk.writes("facts.json", json.dumps({"freshness": {"a": {"1": "2026-01-01T05:00:00Z"}}}))
    lines = clerk.reads(
        "--apps", source, "plan", "b", "1", "--push", "wanted", "--facts", facts, "--now", NOW
    )
    assert [line.split() for line in lines] == [
        ["job", "key", "state", "after"],
        ["a#1", "1", "ready"],
        ["b#1", "1", "waiting", "a#1"],
        ["a#1", "1", "runs", "again", "(stale:", "last", "ran", "7", "h", "0", "min", "ago)"],
        ["2", "jobs", "would", "run."],
        ["Critical", "path:", "a#1", "->", "b#1", "(2", "jobs)."],
        ["Widest", "level:", "1", "job."],
    ]


def fact(app: str, state: str) -> dict[str, Any]:
    state, _, at = state.partition(" ")
    return {"app": app, "key": "1", "state": state, **({"at": f"2026-01-01T{at}Z"} if at else {})}


def in_words(job: Mapping[str, Any]) -> str:
    needs = {gate["name"]: ", ".join(gate["needs"]) for gate in job["gates"]}
    after = " | ".join(f"{name}: {refs}" if len(needs) > 1 else refs for name, refs in needs.items())
    return "; ".join(filter(None, [f"{job['state']} after {after}", job.get("why")]))


def test_parents_are_listed_with_the_age_they_may_have(clerk: Clerk) -> None:
    source = clerk.defines(APPS)
    told = {app: clerk.reads("--apps", source, "parents", app, "1")[1].split("  ")[-1] for app in "bf"}
    assert told == {"b": "succeeded within 6 h 0 min", "f": "succeeded again"}
