"""Retry, cancellation and archiving of all jobs that match a condition."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ops.operations import selected_jobs
from tests.ops.site import WORDS, Site

TABLE = {"partition": "day", "step_size": 1, "bash_cmd": "true"}


@pytest.fixture
def full(site: Site) -> Site:
    """Return a site on which fetch 1 to 3 and clean 3 have failed in three submissions, fetch 4 has succeeded, and
    fetch 5 is ready. The batches are small.
    """
    site.define(
        {
            "fetch": WORDS | {"archive": "manual"},
            "mail": WORDS | {"depends_on": {"app_name": ["fetch"]}},
            "clean": WORDS,
            "table": TABLE,
        }
    )
    site.world.submit("mail", None, keys=["1", "2"], id="one")
    site.world.submit("mail", "3", id="two")
    site.world.submit("clean", "3", id="three")
    site.world.submit("fetch", None, keys=["4", "5"], id="four", push="wanted")
    for key in "123":
        site.world.finish(f"fetch/{key}", Ending.ERROR)
    site.world.finish("clean/3", Ending.ERROR)
    site.world.finish("fetch/4")
    return site


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected_jobs, "BATCH", 2)


def planned(site: Site) -> None:
    site.world.tick(after_s=60)


def test_selected_failed_jobs_run_again_and_their_submissions_succeed(full: Site) -> None:
    said = full.says("retry", "--where", "app = fetch and state = failed and changed >= 2h")
    assert (said["selected"], said["changed"], said["refused"]) == (3, 3, {})
    planned(full)
    assert full.world.ready() == {"fetch", "fetch/2", "fetch/3", "fetch/5"}
    for job in [f"{app}/{key}" for app in ("fetch", "mail") for key in "123"]:
        full.world.finish(job)
    states = {id_: full.world.submission(id_) for id_ in ("one", "two", "three")}
    assert states == {
        "one": SubmissionState.SUCCEEDED,
        "two": SubmissionState.SUCCEEDED,
        "three": SubmissionState.FAILED,
    }


def test_jobs_of_a_submission_are_selected(full: Site) -> None:
    said = full.says("retry", "--where", "submission = one and state = failed")
    assert said["first"] == ["fetch/2", "fetch/1"]
    planned(full)
    assert full.world.ready() == {"fetch", "fetch/2", "fetch/5"}
    said = full.says("cancel", "--where", "submission in (one, four) and state = ready")
    assert said["first"] == ["fetch/5", "fetch/2", "fetch/1"]
    others = full.says("ls", "--where", "submission not in (one, four) and app = fetch")
    assert [job["key"] for job in others] == ["3"]
    assert full.says("ls", "--where", "submission = absent") == []


def test_jobs_that_cannot_be_retried_are_counted_by_reason(full: Site) -> None:
    said = full.says("retry", "--where", "app = fetch")
    assert (said["selected"], said["changed"]) == (5, 3)
    assert said["refused"] == {
        "succeeded: only unsuccessful jobs are run again": 1,
        "ready: only finished jobs can be run again": 1,
    }
    planned(full)
    again = full.says("retry", "--where", "app = fetch")
    assert (again["changed"], again["submissions"]) == (0, [])


def test_a_dry_run_names_the_first_jobs_and_changes_nothing(full: Site) -> None:
    for command, changed, first in (
        ("retry", 7, "clean/3"),
        ("cancel", 1, "fetch/5"),
        ("archive", 4, "fetch/4"),
    ):
        said = full.says(command, "--where", "priority = 0", "--dry-run")
        assert (said["selected"], said["changed"], said["first"][0]) == (9, changed, first)
        assert said["dry_run"] is True
    planned(full)
    assert full.world.ready() == {"fetch/5"}


def test_selected_jobs_are_cancelled(full: Site) -> None:
    full.world.submit("mail", None, keys=["6", "7"], id="five")
    said = full.says("cancel", "--where", "app in (fetch, mail) and key >= 5")
    assert (said["selected"], said["changed"], said["refused"]) == (5, 5, {})
    for job in ("fetch/5", "fetch/6", "fetch/7", "mail/6", "mail/7"):
        assert full.world.state(job) is State.CANCELLED
    said = full.says("cancel", "--where", "app = fetch")
    assert said["refused"] == {
        "failed: it has ended": 3,
        "succeeded: it has ended": 1,
        "cancelled: it has ended": 3,
    }


def test_selected_jobs_are_archived(full: Site) -> None:
    full.says("archive", "fetch", "1")
    said = full.says("archive", "--where", "app in (fetch, clean)")
    assert (said["selected"], said["changed"]) == (6, 3)
    assert said["refused"] == {
        "it is already archived": 1,
        "ready: only finished jobs can be archived": 1,
        "failed: it does not need to be collected": 1,
    }
    assert full.says("ls", "--uncollected") == []


def test_failed_jobs_of_partitions_run_again_in_submissions_of_their_own(full: Site) -> None:
    full.world.submit("table", None, start="2024-04-01", end="2024-04-03")
    first, second, third = sorted(full.world.ready() - {"fetch/5"})
    full.world.finish(first, Ending.ERROR)
    full.world.finish(second)
    full.world.finish(third, Ending.ERROR)
    said = full.says("retry", "--where", "app = table and state = failed")
    assert said["changed"] == len(said["submissions"]) == 2
    planned(full)
    planned(full)
    assert full.world.ready() == {first, third, "fetch/5"}


def test_the_report_has_the_counts_and_reasons(full: Site) -> None:
    shown = full.types("retry", "--where", "app = fetch", "--dry-run")
    assert "Of 5 jobs, 3 would be run again." in shown
    assert "fetch/3, fetch/2, fetch/1" in shown
    assert "1     ready: only finished jobs can be run again" in shown
    assert "Of 1 job, 1 is cancelled." in full.types("cancel", "--where", "app = fetch and key = 5")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("retry",), "Nothing is named."),
        (("archive", "--dry-run"), "Nothing is named."),
        (("cancel", "one", "--dry-run"), "--dry-run needs --where."),
        (("retry", "one", "--where", "app = fetch"), "--where cannot be combined"),
        (("retry", "--where", "app = fetch", "--downstream"), "--where cannot be combined"),
        (("archive", "--outcome", "failed", "--where", "app = fetch"), "--where cannot be combined"),
        (("cancel", "--where", "app fetch"), "The condition cannot be read"),
    ],
)
def test_contradictory_options_are_refused(full: Site, words: tuple[str, ...], what: str) -> None:
    assert what in full.says(*words, code=2)["error"]["what"]
