"""The example configuration of Stolos through the command line: its jobs, their parents, children and filters."""

import json
from typing import Any

import pytest

from jobs.ref import JobName
from tests.acceptance.clerk import Clerk
from tests.ops.typist import Typist
from tests.planner.definitions import jobs
from tests.planner.stolos_jobs import FILTERED, JOBS, STOLOS_APPS

SOURCE = ("--apps", str(STOLOS_APPS))
WORDS: dict[str, Any] = {
    name: words for name, words in json.loads(STOLOS_APPS.read_text()).items() if isinstance(words, dict)
}
Groups = dict[str, str]

ENUMERATED = {
    "autofill1": "autofill1/{10,12,14,16,18}",
    "autofill2": "autofill2/2015010{1,2,3,4}",
    "autofill3": "autofill3/2015010{1,2,3,4}",
    "autofill_getparents": "autofill_getparents/20150101_10_10",
}
#: Job → how many jobs of each app there are to run for it where nothing has been done.
COSTS: dict[str, dict[str, int]] = {
    "app4/20140606_1111_profile": {"app1": 1, "app2": 1, "app3": 1, "app4": 1},
    "depends_on1/20140601_testID1": {"app1": 7, "app2": 6, "depends_on1": 1},
    "depends_on1/20140601_testID3": {"app1": 1, "depends_on1": 1},
    "topological_sort1/20140601_testID1": {
        "app1": 9,
        "app2": 8,
        "bash1": 2,
        "bash2": 2,
        "depends_on1": 1,
        "topological_sort1": 1,
    },
    "autofill3/20150101": {"autofill1": 5, "autofill2": 1, "autofill3": 1},
}

rows = pytest.mark.parametrize(("job", "by_group", "below"), JOBS, ids=[job for job, _, _ in JOBS])


@rows
def test_the_parents_of_a_job(clerk: Clerk, job: str, by_group: Groups, below: str) -> None:
    assert clerk.asks(*SOURCE, "parents", *job.split("/")) == [
        {"group": group, "jobs": as_lists(text)} for group, text in by_group.items()
    ]


@rows
def test_the_children_of_a_job(clerk: Clerk, job: str, by_group: Groups, below: str) -> None:
    assert clerk.asks(*SOURCE, "children", *job.split("/")) == as_lists(below)


@rows
def test_a_plan_waits_for_the_parents_and_refuses_a_key_that_fits_no_group(
    clerk: Clerk, job: str, by_group: Groups, below: str
) -> None:
    app, key = job.split("/")
    said = clerk.types(*SOURCE, "plan", app, key, "--facts", clerk.writes("facts.json", "{}"))
    if WORDS[app].get("depends_on") and not by_group:
        assert said.code == 2
        assert said.document["error"]["what"].startswith(f"{job} fits none of the app's dependency groups")
        return
    planned = {each["ref"]: f"{each['app']}/{each['key']}" for each in said.document["jobs"]}
    last = said.document["jobs"][-1]
    assert f"{last['app']}/{last['key']}" == job
    assert last["state"] == ("waiting" if by_group else "ready")
    assert {
        gate["name"]: sorted(planned.get(ref, ref) for ref in gate["needs"]) for gate in last["gates"]
    } == {group: sorted(map(str, jobs(text))) for group, text in by_group.items()}


@pytest.mark.parametrize("job", COSTS)
def test_what_there_is_to_do_for_a_job(clerk: Clerk, job: str) -> None:
    counts: dict[str, int] = {}
    for each in plan(clerk, *job.split("/"))["jobs"]:
        counts[each["app"]] = counts.get(each["app"], 0) + 1
    assert counts == COSTS[job]


@pytest.mark.parametrize(("job", "passes"), FILTERED)
def test_a_job_that_does_not_pass_its_filter_need_not_run(clerk: Clerk, job: str, passes: bool) -> None:
    document = plan(clerk, *job.split("/"))
    if passes:
        assert named(document["jobs"])[-1] == job
        return
    assert document["jobs"] == []
    assert named(document["satisfied"]) == [job]
    assert document["satisfied"][0]["why"].startswith("skipped: it does not pass valid_if_or")


@pytest.mark.parametrize("app", ENUMERATED)
def test_the_jobs_that_an_app_enumerates(clerk: Clerk, app: str) -> None:
    found = [each for each in plan(clerk, app)["jobs"] if each["app"] == app]
    assert named(found) == list(map(str, jobs(ENUMERATED[app])))


def test_apps_come_after_their_parents(clerk: Clerk) -> None:
    shown = [app["app"] for app in clerk.asks(*SOURCE, "apps", "show")]
    assert sorted(shown) == sorted(WORDS)
    for child, parents in parent_apps().items():
        assert all(shown.index(parent) < shown.index(child) for parent in parents)


def test_the_graph_has_an_edge_from_each_parent(clerk: Clerk) -> None:
    graph = clerk.asks(*SOURCE, "graph")
    assert {node["id"] for node in graph["nodes"]} == set(WORDS)
    assert {(edge["from"], edge["to"]) for edge in graph["edges"]} == {
        (parent, child) for child, parents in parent_apps().items() for parent in parents
    }


def test_it_is_the_same_from_outside(clerk: Clerk) -> None:
    """All the other tests call the command inside this process."""
    said = Typist(clerk.folder).types(*SOURCE, "--json", "parents", "app4", "20140606_1111_profile")
    assert (said.code, said.err) == (0, "")
    assert said.document == [{"group": "default", "jobs": as_lists("app{1,2,3}/20140606_1111_profile")}]


def plan(clerk: Clerk, *words: str) -> Any:
    """What there would be to do, were nothing done."""
    return clerk.asks(*SOURCE, "plan", *words, "--facts", clerk.writes("facts.json", "{}"))


def named(listed: list[dict[str, Any]]) -> list[str]:
    return [str(JobName(each["app"], each["key"])) for each in listed]


def as_lists(text: str) -> list[list[str]]:
    return [[*name] for name in jobs(text)]


def parent_apps() -> dict[str, set[str]]:
    """The parents of each app, as the file has them."""
    found: dict[str, set[str]] = {}
    for name, words in WORDS.items():
        groups = words.get("depends_on", {})
        for group in [groups] if "app_name" in groups else groups.values():
            for mapping in group if isinstance(group, list) else [group]:
                found.setdefault(name, set()).update(mapping["app_name"])
    return found
