"""``sluice archive``, and how uncollected jobs are shown."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.ops.cli.main import main
from tests.ops.site import WORDS, Site


@pytest.fixture
def full(site: Site) -> Site:
    """Return a site with jobs of two apps. Of ``a``, 1 and 2 have succeeded, 3 has failed and 4 is ready. The job of
    ``b``, which needs no collecting, has ended.
    """
    site.define({"a": WORDS | {"archive": "manual"}, "b": WORDS})
    for key in "1234":
        site.world.submit("a", key)
    site.world.submit("b")
    for name in ("a/1", "a/2", "b"):
        site.world.finish(name)
    site.world.finish("a/3", Ending.ERROR)
    return site


def uncollected(site: Site) -> set[tuple[str, str]]:
    return {(job["app"], job["key"]) for job in site.says("ls", "--uncollected")}


def test_archive_takes_all_finished_jobs_of_an_app(full: Site) -> None:
    assert uncollected(full) == {("a", "1"), ("a", "2"), ("a", "3")}
    assert full.says("archive", "a") == {"archived": 3}
    assert uncollected(full) == set()
    assert full.says("archive", "a") == {"archived": 0}
    assert {job["state"] for job in full.says("ls", "--app", "a")} == {"succeeded", "failed", "ready"}


def test_archive_takes_jobs_with_the_given_outcomes(full: Site) -> None:
    assert full.says("archive", "a", "--outcome", "failed", "--outcome", "expired") == {"archived": 1}
    assert uncollected(full) == {("a", "1"), ("a", "2")}
    assert full.says("archive", "b") == {"archived": 0}


def test_archive_takes_all_given_jobs_or_none(full: Site) -> None:
    for words, what in (
        (("a", "1", "4"), "a/4 is ready; only finished jobs"),
        (("a", "1", "7"), "has no job a/7"),
        (("b", "1"), "b/1 is succeeded, and does not need to be collected"),
        (("a", "1", "--outcome", "failed"), "Keys and --outcome cannot be combined."),
        (("c",), "no app 'c'"),
    ):
        assert what in full.says("archive", *words, code=2)["error"]["what"]
    assert len(uncollected(full)) == 3
    assert full.says("archive", "a", "3", "1", "1") == {"archived": 2}
    assert "is already archived" in full.says("archive", "a", "2", "1", code=2)["error"]["what"]
    assert uncollected(full) == {("a", "2")}


def test_show_and_ls_mark_uncollected_jobs(full: Site, capfd: pytest.CaptureFixture[str]) -> None:
    assert (full.says("show", "a", "1")["uncollected"], full.says("show", "a", "1")["archived_at"]) == (
        True,
        None,
    )
    assert "uncollected; `sluice archive a 1`" in full.in_words("a", "show")
    assert main(["ls", "--app", "a"]) == 0
    assert "succeeded, uncollected" in capfd.readouterr().out
    full.says("archive", "a", "1")
    shown = full.says("show", "a", "1")
    assert (shown["state"], shown["uncollected"]) == ("succeeded", False)
    assert shown["record"]["0:archived"] == shown["archived_at"] is not None
    assert shown["log"][-1].endswith("moving task a/1: succeeded -> archived")
    assert "archived 20" in full.in_words("a", "show")
    assert {job["key"]: job["uncollected"] for job in full.says("ls", "--app", "a")} == {
        "1": False,
        "2": True,
        "3": True,
        "4": False,
    }
    full.says("retry", "a", "1")
    full.world.tick(after_s=10)
    assert full.says("show", "a", "1")["archived_at"] is None
