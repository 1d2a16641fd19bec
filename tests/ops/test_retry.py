"""Retries of whole submissions, and retries by the same code only."""

import json

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ops.site import WORDS, Site

CHUNKS = {
    "report": {
        "chunk_size": 2,
        "bash_cmd": "true",
        "dependencies": [{"job_type": "fetch", "max_lag": "1h"}],
    },
    "fetch": {"chunk_size": 2, "bash_cmd": "true"},
}


def _fetch_one_half(site: Site) -> str:
    """Return a submission with one failed chunk of fetch. All its other jobs have ended."""
    site.define(CHUNKS)
    submission = site.world.submit("report", None, work_ids="1-4", kwargs={"market": "north"})
    site.world.finish("fetch/1-2@1", Ending.ERROR)
    site.world.finish("fetch/3-4@1")
    site.world.finish("report/3-4@1")
    assert site.world.submission(submission) is SubmissionState.FAILED
    return submission


def _planned(site: Site) -> None:
    """Have the submission planned. Commands use the time of the database, which is ahead of this world's."""
    site.world.tick(after_s=60)


def test_a_retry_runs_the_failed_jobs_and_the_jobs_that_waited(site: Site) -> None:
    submission = _fetch_one_half(site)
    again = site.says("retry", submission)
    _planned(site)
    assert site.world.states() == {
        "fetch/1-2@1": State.READY,
        "fetch/3-4@1": State.SUCCEEDED,
        "report/1-2@1": State.WAITING,
        "report/3-4@1": State.SUCCEEDED,
    }
    site.world.finish("fetch/1-2@1")
    site.world.finish("report/1-2@1")
    assert site.world.submission(again["submission"]) is SubmissionState.SUCCEEDED
    shown = site.says("show", "report", "1-2@1")
    assert (shown["work_ids"], shown["kwargs"]) == ([1, 2], {"market": "north"})


WEEK = {
    "day": {"job_id": "{day}", "bash_cmd": "true"},
    "week": {
        "job_id": "{week}",
        "autofill_values": {"week": ["w"]},
        "bash_cmd": "true",
        "depends_on": {"app_name": ["day"], "job_id": ["3", "4", "5", "6"]},
    },
}


def test_a_retry_runs_only_requested_jobs_and_the_submission_succeeds(site: Site) -> None:
    site.define(WEEK)
    site.world.submit("day", None, keys=["3", "4"], id="backfill")
    site.world.finish("day/4")
    site.world.finish("day/3", Ending.ERROR)
    assert site.says("retry", "backfill") == {"submission": "backfill", "state": "received"}
    _planned(site)
    assert site.world.ready() == {"day/3"}, "the submission does not request days 5 and 6"
    site.world.finish("day/3")
    assert site.says("submissions", "backfill")["state"] == "succeeded"
    assert len(site.says("submissions")) == 1


def test_a_submission_cannot_be_retried_with_downstream_jobs(site: Site) -> None:
    submission = _fetch_one_half(site)
    said = site.says("retry", submission, "--downstream", code=2)["error"]
    assert said["what"] == "--downstream is for one job, not for a submission."


def test_a_submission_of_several_apps_is_retried_as_one(site: Site) -> None:
    site.define(
        {
            "fetch": WORDS,
            "mail": WORDS | {"depends_on": {"app_name": ["fetch"]}},
            "post": WORDS | {"depends_on": {"app_name": ["fetch"]}},
        }
    )
    submission = site.world.submit("fetch")
    site.world.finish("fetch")
    site.world.finish("mail", Ending.ERROR)
    site.world.finish("post", Ending.ERROR)
    assert site.says("retry", submission)["submission"] == submission
    _planned(site)
    assert site.world.states() == {"fetch": State.SUCCEEDED, "mail": State.READY, "post": State.READY}


@pytest.mark.parametrize(
    ("ending", "what"),
    [
        (None, "only an ended submission can be run again"),
        (Ending.DONE, "none of its jobs has to be run again"),
    ],
)
def test_an_open_or_succeeded_submission_is_not_retried(site: Site, ending: Ending | None, what: str) -> None:
    site.define({"a": WORDS})
    submission = site.world.submit("a")
    if ending:
        site.world.finish("a", ending)
    assert what in site.says("retry", submission, code=2)["error"]["what"]


def test_an_unknown_submission_is_refused(site: Site) -> None:
    assert site.says("retry", "absent", code=2)["error"]["what"] == "There is no submission absent."


def test_same_code_refuses_other_code_unless_forced(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    submission = _fetch_one_half(site)
    monkeypatch.chdir(site.folder)
    monkeypatch.setenv("SLUICE_APPS", "apps.json")
    shown = site.says("show", "fetch", "1-2@1")["rounds"][0]
    assert (shown["code"], len(shown["digest"])) == ("then", 32)
    monkeypatch.setenv("SLUICE_CODE_VERSION", "now")
    said = site.says("retry", submission, "--same-code", code=2)["error"]["what"]
    assert said == "The code has changed. fetch/1-2@1: it ran with code then, and the current code is now."
    monkeypatch.setenv("SLUICE_CODE_VERSION", "then")
    changed = {**CHUNKS, "fetch": CHUNKS["fetch"] | {"bash_cmd": "false"}}
    (site.folder / "apps.json").write_text(json.dumps(changed))
    said = site.says("retry", submission, "--same-code", code=2)["error"]["what"]
    assert said.endswith("fetch/1-2@1: the definition of fetch has changed since it ran.")
    assert site.says("retry", submission, "--same-code", "--force")["state"] == SubmissionState.RECEIVED
    (site.folder / "apps.json").write_text(json.dumps(CHUNKS))
    assert site.says("retry", submission, "--same-code")["state"] == SubmissionState.RECEIVED
