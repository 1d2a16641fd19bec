"""``sluice pause`` and ``resume``, and how paused jobs and submissions are shown."""

import pytest

from sluice.jobs.model.submission import Submission
from sluice.ledger.lifecycle import submissions
from sluice.ops.cli.main import main
from tests.ops.site import WORDS, Site


def test_a_submission_is_paused_and_resumed(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b", id="nightly")
    assert site.says("pause", "nightly") == {"paused": "nightly", "held_back": 2}
    assert site.world.ready() == set()
    assert site.says("pause", "nightly") == {"paused": "nightly", "held_back": 0}
    assert site.says("resume", "nightly") == {"resumed": "nightly", "let_go": 2}
    assert site.world.ready() == {"a"}


def test_submissions_that_cannot_be_paused_or_resumed_are_refused(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", id="nightly")
    assert "no open submission absent" in site.says("pause", "absent", code=2)["error"]["what"]
    assert "no paused submission nightly" in site.says("resume", "nightly", code=2)["error"]["what"]


def test_a_submission_id_may_look_like_a_job(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", id="batch/0")
    site.says("pause", "batch/0")
    assert site.says("resume", "batch/0") == {"resumed": "batch/0", "let_go": 1}


def test_listings_mark_paused_jobs_and_submissions(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b", id="nightly")
    site.says("pause", "nightly")
    assert {job["paused"] for job in site.says("ls")} == {True}
    assert site.says("show", "a", "1")["paused"] is True
    assert "a/1 waiting, paused by `sluice pause`, since" in site.in_words("a", "show")
    assert site.says("submissions")[0]["paused_at"]
    assert site.says("submissions", "nightly")["paused_at"]


def test_why_names_the_submission_to_resume(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b", id="nightly", user="ana")
    site.world.pause("nightly")
    said = site.why("a")
    assert said["because"] == "a/1 is paused with submission nightly of ana"
    assert [each["kind"] for each in said["waits_for"]] == ["pause"]
    assert said["remedies"][0]["command"] == "sluice resume nightly"
    child = site.why("b")
    assert child["because"].startswith("b/1 is paused with submission nightly of ana, and waits for 1 parent")
    assert "a/1, which is paused with submission nightly of ana" in [
        each["what"] for each in child["waits_for"]
    ]
    assert child["remedies"][0]["command"] == "sluice resume nightly"


def test_why_names_a_paused_submission_that_is_not_planned_yet(site: Site) -> None:
    site.define({"a": WORDS})
    asked = Submission(id="nightly", app="a", key="1")
    site.world.ledger.transact(lambda tx: submissions.receive(tx, [asked]))
    site.world.pause("nightly")
    said = site.why("a")
    assert "is not planned yet: it is paused" in said["because"]
    assert said["remedies"][0]["command"] == "sluice resume nightly"


def test_the_page_of_a_paused_submission_shows_the_pause(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site.chain("a")
    site.world.submit("a", id="nightly")
    site.world.pause("nightly")
    assert main(["submissions", "nightly"]) == 0
    told = " ".join(capfd.readouterr().out.split())
    assert "by `sluice pause`. `sluice resume nightly` continues it." in told
    assert main(["submissions"]) == 0
    assert "active, paused" in capfd.readouterr().out
