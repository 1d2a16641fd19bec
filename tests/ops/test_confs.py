"""Plans, listings and grids of submissions that name a conf, a mode or a branch."""

from pathlib import Path

import pytest

from sluice.ops.cli.main import main
from tests.ops.site import Site

APPS = {
    "confs": {"features": {"offline": "sums", "online": "stream"}},
    "days": {"bash_cmd": "true", "partition": "day"},
    "sums": {"bash_cmd": "true", "table_dependencies": [{"table": "days", "start_offset": 1}]},
    "stream": {
        "job_type": "sluice.jobs.managers:LocalProcess",
        "is_long_running": True,
        "table_dependencies": [{"table": "sums"}],
    },
}
WIDER = APPS | {"sums": {"bash_cmd": "true", "table_dependencies": [{"table": "days", "start_offset": 2}]}}
DAY = ("--start", "2024-04-03", "--end", "2024-04-03")


def planned(site: Site, *words: str) -> list[tuple[str, list[str]]]:
    jobs = site.says("plan", "features", *words)["jobs"]
    return [(job["app"], job["span"]) if "span" in job else (job["app"], []) for job in jobs]


def test_a_plan_of_a_conf_is_for_the_app_of_the_mode(site: Site) -> None:
    site.define(APPS)
    offline = [
        ("days", ["2024-04-02", "2024-04-02"]),
        ("days", ["2024-04-03", "2024-04-03"]),
        ("sums", ["2024-04-03", "2024-04-03"]),
    ]
    assert planned(site, "--mode", "offline", *DAY) == offline
    assert planned(site, "--mode", "online", *DAY) == [*offline, ("stream", [])]
    said = site.says("plan", "features", *DAY, code=2)["error"]
    assert said["advice"] == "Its modes: offline, online."


def test_a_plan_uses_the_definitions_of_its_branch(site: Site, tmp_path: Path) -> None:
    site.define(WIDER)
    site.says("apps", "sync", "--branch", "wider")
    site.define(APPS)
    days = [span[0] for app, span in planned(site, "--mode", "offline", "--branch", "wider", *DAY) if span]
    assert days == ["2024-04-01", "2024-04-02", "2024-04-03", "2024-04-03"]
    facts = tmp_path / "facts.json"
    facts.write_text('{"partitions": {"days": ["2024-04-01", "2024-04-02"]}}')
    words = "--mode", "offline", "--branch", "wider", "--facts", str(facts)
    assert [span[0] for _, span in planned(site, *words, *DAY)] == ["2024-04-03", "2024-04-03"]
    assert "no branch 'other'" in site.says("plan", "features", "--branch", "other", code=2)["error"]["what"]


def test_submissions_are_listed_with_their_mode_and_branch(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site.define(APPS)
    site.says("apps", "sync", "--branch", "trial")
    site.world.submit("features", None, start="2024-04-03", end="2024-04-03", mode="offline", branch="trial")
    assert main(["submissions"]) == 0
    told = capfd.readouterr().out
    assert "features from 2024-04-03 to 2024-04-03 in mode offline on branch trial" in told
    (listed,) = site.says("submissions")
    assert (listed["mode"], listed["branch"]) == ("offline", "trial")


def test_a_grid_leaves_out_apps_without_partitions(site: Site) -> None:
    site.define(APPS)
    id_ = site.world.submit("features", None, start="2024-04-03", end="2024-04-03", mode="online")
    assert [each["app"] for each in site.says("grid", id_)["apps"]] == ["days", "sums"]
