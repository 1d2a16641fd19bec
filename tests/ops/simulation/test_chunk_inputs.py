"""Chunks that need jobs with keys, in virtual time: failures, retries, splits, reruns and faults of the processes."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.model.job import Assignment
from sluice.ops.simulation.plugin import Pipelines
from sluice.testing import Faults, Took

#: Odd work IDs of ``score`` need oslo, even ones graz, and 7 needs both.
APPS: dict[str, Any] = {
    "source": {"job_id": "{shop}", "bash_cmd": "true"},
    "fetch": {
        "job_id": "{shop}",
        "depends_on": {"app_name": ["source"]},
        "max_fails": 2,
        "max_losses": 100,
        "retry": {"rule": "fixed", "seconds": 600},
        "bash_cmd": "true",
    },
    "score": {
        "chunk_size": 4,
        "on_failure": "bisect",
        "max_losses": 100,
        "depends_on": {"_func": "tests.planner.two_ways:Shops", "app_name": ["fetch"]},
        "bash_cmd": "true",
    },
    "report": {
        "chunk_size": 100,
        "max_losses": 100,
        "dependencies": [{"job_type": "score", "max_lag": "1d"}],
        "bash_cmd": "true",
    },
}
BAD_NIGHT = Faults(
    lose=0.2, double=0.2, crash_before_commit=0.03, crash_after_commit=0.03, kill_worker_every_s=1800
)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "apps.json"
    path.write_text(json.dumps(APPS))
    return str(path)


def _fetch(job: Assignment) -> Took:
    return Took(60, error="no answer" if job.name.key == "oslo" and job.round == 0 else None)


def _score(job: Assignment) -> Took:
    return Took(10, error="a poison ID" if 6 in (job.work_ids or ()) else None)


@pytest.mark.parametrize("faults", [Faults(), BAD_NIGHT], ids=["", "with faults"])
def test_failures_retries_splits_and_reruns(pipeline: Pipelines, source: str, faults: Faults) -> None:
    run = pipeline(source, work={"fetch": _fetch, "score": _score}, faults=faults)
    asked = run.submit("score", None, work_ids="1-8")
    run.until_quiet()
    assert run.submission(asked) == "failed", "6 cannot be done"
    assert run.state("score", "6@1") == "failed"
    done = {key for key, state in run.states().items() if key.startswith("score/") and state == "succeeded"}
    assert done == {"score/1-4@1", "score/5@1", "score/7-8@1"}
    begun_at = run.transitions("score", "1-4@1")[-4][0]
    assert all(run.transitions("fetch", shop)[-1][0] <= begun_at for shop in ("graz", "oslo"))

    again = run.submit("fetch", "graz", rerun="downstream")
    run.until_quiet()
    assert run.submission(again) == "failed", "the chunk with 6 runs again, too"
    runs = {
        key: [state for _, state in run.transitions("score", key)].count("succeeded")
        for key in ("1-4@1", "5@1")
    }
    assert runs == {"1-4@1": 2, "5@1": 2}, "each half needs what the whole needed"


def test_a_needed_chunk_pulls_the_jobs_that_it_needs(pipeline: Pipelines, source: str) -> None:
    run = pipeline(source)
    asked = run.submit("report", None, work_ids="1,3")
    run.until_quiet()
    assert run.submission(asked) == "succeeded"
    assert {*run.states()} == {"source/oslo", "fetch/oslo", "score/1,3@1", "report/1,3@1"}
    run.submit("report", None, work_ids="1,3,5")
    run.until_quiet()
    assert run.ran("fetch") == 1, "it has succeeded"
    assert run.state("score", "1,3,5@2") == "succeeded", "5 was not fresh"
