"""``sluice db prune``, and how a job without its history is shown."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.jobs.model.job import Ending
from sluice.ops.cli.main import main
from tests.ops.site import WORDS, Site

LONG_AGO = timedelta(days=100)


@pytest.fixture
def old(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a site with old and new jobs. 100 days ago ``a/1`` succeeded, ``a/2`` failed, and ``b/4`` began to wait.
    ``a/3`` succeeded today.
    """
    monkeypatch.setenv("SLUICE_BLOBS_URL", str(site.folder / "blobs"))
    site.define({"a": WORDS, "b": WORDS | {"depends_on": {"app_name": ["c"]}}, "c": WORDS})
    today = site.world.now
    site.world.now = today - LONG_AGO
    site.hire(queues=[], threads=1)
    for key in "12":
        site.world.submit("a", key)
    site.world.submit("b", "4")
    claimed = site.world.claim("a/1")
    assert claimed is not None
    site.world.record(claimed, output="printed", output_blob=stored(site, "a/t/1-output-" + 32 * "0"))
    site.world.finish("a/2", Ending.ERROR)
    site.world.now = today
    site.hire(queues=[], threads=1)
    site.world.submit("a", "3")
    site.world.finish("a/3")
    return site


def stored(site: Site, name: str, *, days: float = 0) -> str:
    """Store a blob of this name and age, and return the name."""
    path = site.folder / "blobs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("printed, and more")
    aged(path, days)
    return name


def aged(path: Path, days: float) -> None:
    at = time.time() - days * 86400
    os.utime(path, (at, at))


def blobs(site: Site) -> set[str]:
    root = site.folder / "blobs"
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def counts(site: Site, *words: str) -> dict[str, int]:
    found: dict[str, int] = site.says("db", "prune", *words)["removed"]
    return {name: count for name, count in found.items() if count}


def test_jobs_that_ended_long_ago_lose_their_history_and_blobs(old: Site) -> None:
    gone = {"jobs": 2, "transitions": 10, "rounds": 2, "blobs": 1}
    assert counts(old, "--dry-run") == gone
    assert len(blobs(old)) == 1
    assert counts(old) == gone
    assert blobs(old) == set()
    assert not (old.folder / "blobs" / "a" / "t").exists()
    assert counts(old) == {}
    assert old.says("db", "check") == {"breaches": []}
    assert {(job["key"], job["state"]) for job in old.says("ls", "--app", "a")} == {
        ("1", "succeeded"),
        ("2", "failed"),
        ("3", "succeeded"),
    }


def test_the_age_is_an_option_or_a_setting(old: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counts(old, "--older-than", "200d") == {}
    monkeypatch.setenv("SLUICE_KEEP_HISTORY", "off")
    error = old.says("db", "prune", code=2)["error"]
    assert "SLUICE_KEEP_HISTORY is off" in error["what"]
    for words in ("soon", "off", "0"):
        assert "--older-than" in old.says("db", "prune", "--older-than", words, code=2)["error"]["what"]
    assert counts(old, "--older-than", "99d", "--dry-run")["jobs"] == 2


def test_jobs_are_removed_by_an_age_or_a_setting_of_their_own(
    old: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counts(old)["jobs"] == 2
    assert counts(old, "--jobs-older-than", "200d") == {}
    assert "--jobs-older-than" in old.says("db", "prune", "--jobs-older-than", "off", code=2)["error"]["what"]
    assert counts(old, "--jobs-older-than", "99d", "--dry-run") == {"removed_jobs": 2}
    monkeypatch.setenv("SLUICE_KEEP_JOBS", "99d")
    assert counts(old) == {"removed_jobs": 2, "submissions": 2}
    assert [job["key"] for job in old.says("ls", "--app", "a")] == ["3"]
    assert old.says("db", "check") == {"breaches": []}


def test_the_printed_result_has_the_removed_rows(old: Site, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "prune", "--older-than", "30d"]) == 0
    said = capfd.readouterr().out
    assert "The history of 2 jobs that ended more than 30 d 0 h ago was removed." in said
    assert "transitions" in said
    assert main(["db", "prune", "--older-than", "30d"]) == 0
    assert "transitions" not in capfd.readouterr().out


def test_with_the_option_only_orphans_are_removed_from_the_store(old: Site) -> None:
    orphan = stored(old, "a/t/2-stderr-" + 32 * "a", days=91)
    young = stored(old, "a/t/3-output-" + 32 * "b", days=0.5)
    foreign = stored(old, "report.csv", days=400)
    known = "a/t/1-output-" + 32 * "0"
    aged(old.folder / "blobs" / known, 100)
    assert "orphans" not in counts(old, "--dry-run")
    assert counts(old, "--dry-run", "--orphans", "--older-than", "300d") == {}
    assert counts(old, "--dry-run", "--orphans", "--older-than", "1s")["orphans"] == 1
    assert counts(old, "--orphans")["orphans"] == 1
    assert orphan not in blobs(old)
    assert blobs(old) == {young, foreign}


def test_blobs_of_a_store_that_does_not_answer_are_removed_later(
    old: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setenv("SLUICE_BLOBS_URL", "nosuch://host/x")
        error = old.says("db", "prune", code=3)["error"]
        assert "could not be removed" in error["what"]
    assert len(blobs(old)) == 1
    patience = "UPDATE blob_deletion SET next_attempt_at = now()"
    old.world.ledger.transact(lambda tx: tx.write(patience))
    assert counts(old) == {"blobs": 1}
    assert blobs(old) == set()


def test_every_command_shows_that_the_history_was_removed(old: Site) -> None:
    old.says("db", "prune")
    shown = old.says("show", "a", "2")
    assert (shown["state"], shown["history"], shown["rounds"], shown["record"]) == ("failed", [], [], {})
    assert shown["pruned_at"] is not None
    words = "its history was removed at"
    assert words in old.in_words("a/2", "show")
    assert words in old.why("a/2")["because"]
    assert not any("logs" in each["command"] for each in old.why("a/2")["remedies"])
    assert any("retry" in each["command"] for each in old.why("a/2")["remedies"])
    logs = old.says("logs", "a", "1")
    assert (logs["rounds"], logs["pruned_at"]) == ([], old.says("show", "a", "1")["pruned_at"])
    assert words in old.says("logs", "a", "1", "--round", "0", code=2)["error"]["advice"].lower()
    assert old.says("logs", "a", "1", "--course")["log"] == []
    assert old.says("show", "a", "3")["pruned_at"] is None


def test_printed_logs_show_that_the_output_was_removed(old: Site, capfd: pytest.CaptureFixture[str]) -> None:
    old.says("db", "prune")
    for words in ((), ("--course",), ("--follow",)):
        assert main(["logs", "a", "1", *words]) == 0
        said = capfd.readouterr()
        assert "a/1 is succeeded since" in said.out + said.err
        assert "was removed at" in said.out + said.err


def test_submissions_keep_the_counts_of_their_jobs(old: Site) -> None:
    before = old.says("submissions")
    old.says("db", "prune")
    assert old.says("submissions") == before


def test_a_pruned_job_is_retried_by_the_same_code_only_if_forced(old: Site) -> None:
    old.says("db", "prune")
    refused = old.says("retry", "a", "2", "--same-code", code=2)["error"]
    assert "its history was removed" in refused["what"]
    assert old.world.state("a/2") == "failed"
    old.says("retry", "a", "2", "--same-code", "--force")
    old.world.now += timedelta(seconds=20)
    old.world.tick()
    assert old.world.state("a/2") == "ready"
    assert "its earlier history was removed" in old.in_words("a/2", "show")


def test_saga_show_of_a_pruned_job_is_refused(old: Site) -> None:
    old.says("db", "prune")
    error = old.says("saga", "show", "a", "1", code=2)["error"]
    assert "is a saga is unknown" in error["what"]
