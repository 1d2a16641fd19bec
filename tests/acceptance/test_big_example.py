"""The example configuration of Stolos at the command line.

``tests/planner/test_stolos_examples.py`` has the relation and the plan of every job. Here one query is made for each
app.
"""

import json
from collections import Counter
from typing import Any

import pytest

from sluice.jobs.model.names import JobName
from tests.acceptance.command_typist import Clerk
from tests.planner.definitions import jobs
from tests.planner.stolos_jobs import ENUMERATED, JOBS, JOBS_TO_RUN, STOLOS_APPS

SOURCE = ("--apps", str(STOLOS_APPS))
APPS: dict[str, Any] = {
    name: words for name, words in json.loads(STOLOS_APPS.read_text()).items() if isinstance(words, dict)
}
#: A job of each app that has parents, and the parents by group.
PARENTS = {job.partition("/")[0]: (job, by_group) for job, by_group, _ in JOBS if by_group}
#: A job of each app that has children, and the children.
CHILDREN = {job.partition("/")[0]: (job, below) for job, _, below in JOBS if below}


def test_parents_of_one_job_of_each_app_are_listed_by_group(clerk: Clerk) -> None:
    for job, by_group in PARENTS.values():
        assert clerk.asks(*SOURCE, "parents", *job.split("/")) == [
            {"group": group, "jobs": as_lists(text)} for group, text in by_group.items()
        ], job


def test_children_of_one_job_of_each_app_are_listed(clerk: Clerk) -> None:
    for job, below in CHILDREN.values():
        assert clerk.asks(*SOURCE, "children", *job.split("/")) == as_lists(below), job


def test_a_plan_lists_the_jobs_that_run_for_a_job(clerk: Clerk) -> None:
    job = "topological_sort1/20140601_testID1"
    assert Counter(each["app"] for each in plan(clerk, *job.split("/"))["jobs"]) == JOBS_TO_RUN[job]


@pytest.mark.parametrize(
    ("key", "passes"), [("20140606_1111_profile", True), ("20140606_1111_content", False)]
)
def test_a_plan_skips_a_job_that_does_not_pass_its_filter(clerk: Clerk, key: str, passes: bool) -> None:
    document = plan(clerk, "app2", key)
    if passes:
        assert named(document["jobs"])[-1] == f"app2/{key}"
        return
    assert document["jobs"] == []
    assert named(document["satisfied"]) == [f"app2/{key}"]
    assert document["satisfied"][0]["why"].startswith("skipped: it does not pass valid_if_or")


def test_a_plan_without_a_key_lists_the_jobs_that_the_app_enumerates(clerk: Clerk) -> None:
    found = [each for each in plan(clerk, "autofill3")["jobs"] if each["app"] == "autofill3"]
    assert named(found) == list(map(str, jobs(ENUMERATED["autofill3"])))


def test_apps_are_listed_after_their_parents(clerk: Clerk) -> None:
    shown = [app["app"] for app in clerk.asks(*SOURCE, "apps", "show")]
    assert sorted(shown) == sorted(APPS)
    for child, parents in parent_apps().items():
        assert all(shown.index(parent) < shown.index(child) for parent in parents)


def test_the_graph_has_an_edge_from_each_parent(clerk: Clerk) -> None:
    graph = clerk.asks(*SOURCE, "graph")
    assert {node["id"] for node in graph["nodes"]} == set(APPS)
    assert {(edge["from"], edge["to"]) for edge in graph["edges"]} == {
        (parent, child) for child, parents in parent_apps().items() for parent in parents
    }


def plan(clerk: Clerk, *words: str) -> Any:
    """Return the plan of a submission if nothing has run before."""
    return clerk.asks(*SOURCE, "plan", *words, "--facts", clerk.writes("facts.json", "{}"))


def named(listed: list[dict[str, Any]]) -> list[str]:
    return [str(JobName(each["app"], each["key"])) for each in listed]


def as_lists(text: str) -> list[list[str]]:
    return [[*name] for name in jobs(text)]


def parent_apps() -> dict[str, set[str]]:
    """Return the parents of each app, read from the file without Sluice's own code."""
    found: dict[str, set[str]] = {}
    for name, words in APPS.items():
        groups = words.get("depends_on", {})
        for group in [groups] if "app_name" in groups else groups.values():
            for mapping in group if isinstance(group, list) else [group]:
                found.setdefault(name, set()).update(mapping["app_name"])
    return found
