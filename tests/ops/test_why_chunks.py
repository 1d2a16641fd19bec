"""``sluice why`` and ``sluice show`` of chunks that need jobs with keys: they name these jobs, and their states."""

from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from tests.ops.site import Site

#: Odd work IDs of ``score`` need oslo, even ones graz. It may be at most one hour old.
APPS: dict[str, Any] = {
    "fetch": {"job_id": "{shop}", "bash_cmd": "true"},
    "score": {
        "chunk_size": 2,
        "bash_cmd": "true",
        "depends_on": {"_func": "tests.planner.two_ways:Shops", "app_name": ["fetch"], "max_lag": "1h"},
    },
}


@pytest.fixture
def chunked(site: Site) -> Site:
    site.define(APPS)
    return site


def _waits_for(site: Site, chunk: str) -> list[tuple[str, str, str]]:
    """Return the app, the key and the state of each job that a chunk waits for, also as ``show`` has them."""
    app, _, key = chunk.partition("/")
    found = [(each["app"], each["key"], each["state"]) for each in site.why(chunk)["waits_for"]]
    shown = [tuple(each) for each in site.says("show", app, key)["parents"]]
    assert {*found} <= {*shown}
    return found


def test_a_waiting_chunk_names_the_jobs_that_it_waits_for_and_their_states(chunked: Site) -> None:
    chunked.world.submit("score", None, work_ids="1-2")
    chunk = "score/1-2@1"
    assert _waits_for(chunked, chunk) == [("fetch", "graz", "ready"), ("fetch", "oslo", "ready")]
    assert chunked.why(chunk)["because"] == f"{chunk} waits for 2 parents: 2 ready"
    chunked.world.take("fetch/graz")
    chunked.world.finish("fetch/oslo")
    assert _waits_for(chunked, chunk) == [("fetch", "graz", "running")]
    told = chunked.in_words(chunk)
    assert f"{chunk} waits for 1 parent, which is running." in told
    assert "waits for fetch/graz, which is running on site:7" in told
    shown = chunked.in_words(chunk, "show")
    assert "fetch/graz  running    default  succeeded" in shown
    assert "fetch/oslo  succeeded  default  succeeded" in shown


def test_a_chunk_that_cannot_run_names_the_failed_job(chunked: Site) -> None:
    chunked.world.submit("score", None, work_ids="1,3")
    chunked.world.finish("fetch/oslo", Ending.ERROR)
    why = chunked.why("score/1,3@1")
    assert why["because"] == "score/1,3@1 cannot run, because fetch/oslo is failed: it broke"
    assert why["remedies"][-1]["command"] == "sluice retry score 1,3@1"


def test_a_chunk_names_a_job_that_runs_again_because_it_is_too_old(chunked: Site) -> None:
    chunked.world.submit("fetch", "oslo")
    chunked.world.finish("fetch/oslo")
    chunked.world.tick(after_s=3601)
    chunked.hire(queues=["fetch", "score"], threads=1)
    chunked.world.submit("score", None, work_ids="1")
    assert _waits_for(chunked, "score/1@2") == [("fetch", "oslo", "ready")]
