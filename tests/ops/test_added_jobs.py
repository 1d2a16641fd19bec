"""Jobs that a job has added, as the console and ``sluice show`` list, count and draw them."""

from typing import Any
from urllib.parse import quote

import pytest

from sluice.jobs.expansions import Expansion, encoded
from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.ledger.job_graph.added_jobs import adding_apps
from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from tests.ops.console_client import HERE, TOKEN, console_of, told
from tests.ops.site import WORDS, Site

PART = {"job_id": "{x}_{n}", "bash_cmd": "true", "max_fails": 0}
JOIN = WORDS | {"depends_on": {"app_name": ["split"]}}


@pytest.fixture
def parts(site: Site) -> Site:
    """Return a site on which split/1 has added nine jobs of part, of which one has failed and seven have succeeded."""
    site.define({"split": WORDS, "part": PART, "join": JOIN})
    site.world.submit("join", push="wanted")
    expansion = Expansion("part", tuple(f"1_{n}" for n in range(9)), JobName("join", "1"), "finished")
    assert site.world.record(site.world.take("split"), expansions=encoded([expansion]))
    for n in range(7):
        site.world.finish(f"part/1_{n}")
    site.world.finish("part/1_7", Ending.ERROR)
    return site


def reads(site: Site, path: str) -> Any:
    answering = console_of(site.world, AccessControl(TOKEN))
    path, _, query = path.partition("?")
    return told(answering.answer(Request(method="GET", path=path, query=query, headers=HERE, body=b"")))


def test_a_job_has_the_counts_of_the_jobs_that_it_has_added_and_the_job_that_follows(parts: Site) -> None:
    found = parts.says("show", "split", "1")
    assert found["added"] == {
        "groups": {"part": {"succeeded": 7, "failed": 1, "ready": 1}},
        "then": [["join", "1", "waiting"]],
        "is_planned": True,
    }
    assert found["added_by"] == []
    assert reads(parts, "/api/jobs/split/1")["added"] == found["added"]
    text = parts.types("show", "split", "1")
    assert "added 9 of part: 1 failed, 1 ready, 7 succeeded" in text
    assert "followed by join/1, which is waiting" in text


@pytest.mark.parametrize("job", [("part", "1_3"), ("join", "1")])
def test_an_added_job_names_the_job_that_has_added_it(parts: Site, job: tuple[str, str]) -> None:
    found = parts.says("show", *job)
    assert (found["added"], found["added_by"]) == (None, [["split", "1", "succeeded"]])
    assert "added by split/1, which is succeeded" in parts.types("show", *job)


def test_a_job_that_an_added_job_has_added_names_the_nearest(parts: Site) -> None:
    nested = encoded([Expansion("part", ("1_20", "1_21"), JobName("join", "1"), "finished")])
    assert parts.world.record(parts.world.take("part/1_8"), expansions=nested)
    assert parts.says("show", "part", "1_20")["added_by"] == [["part", "1_8", "succeeded"]]
    assert parts.says("show", "join", "1")["added_by"] == [["split", "1", "succeeded"]]
    assert parts.says("show", "part", "1_8")["added"]["groups"] == {"part": {"ready": 2}}


def test_the_added_jobs_can_be_listed(parts: Site) -> None:
    parts.world.submit("part", "2_0")
    path = f"/api/jobs?added_by={quote('split/1', safe='')}"
    pages = [reads(parts, f"{path}&limit=6")]
    pages.append(reads(parts, f"{path}&limit=6&after={pages[0]['next']}"))
    keys = [each["key"] for page in pages for each in page["jobs"]]
    assert sorted(keys) == ["1", *(f"1_{n}" for n in range(9))]
    failed = reads(parts, f"{path}&app=part&state=failed")
    assert [each["key"] for each in failed["jobs"]] == ["1_7"]
    assert reads(parts, "/api/jobs?added_by=none/1") == {"jobs": [], "next": None}
    assert reads(parts, "/api/jobs?added_by=split")["status"] == 400


def test_equal_added_jobs_are_drawn_as_one_with_lines_of_their_own(parts: Site) -> None:
    drawn = reads(parts, "/api/jobs/split/1/graph")
    folded = {(each["app"], each["state"]): each["folded"] for each in drawn["jobs"]}
    assert folded == {
        ("split", "succeeded"): 1,
        ("part", "succeeded"): 7,
        ("part", "failed"): 1,
        ("part", "ready"): 1,
        ("join", "waiting"): 1,
    }
    assert {each["added"] for each in drawn["needs"]} == {True}
    text = parts.types("graph", "split", "1")
    assert "n0 ==>" in text


def test_the_pairs_of_apps_are_those_that_the_ledger_has_seen(parts: Site) -> None:
    found = parts.world.ledger.transact(lambda tx: adding_apps(tx, [*parts.world.catalogue]))
    assert found == [("split", "join"), ("split", "part")]
    assert parts.world.ledger.transact(lambda tx: adding_apps(tx, ["part", "join"])) == []
