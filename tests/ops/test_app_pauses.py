"""``sluice apps pause`` and ``apps resume``, and how jobs of a paused app are shown."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.ops.cli.main import main
from tests.ops.site import Site


def test_an_app_is_paused_and_resumed(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b", "1")
    assert site.says("apps", "pause", "a") == {"paused": ["a"]}
    assert site.says("apps", "pause", "a", "b") == {"paused": ["b"]}
    assert site.world.claim("a") is None
    assert site.says("apps", "resume", "a", "b", "c") == {"resumed": ["a", "b"]}
    site.world.finish("a")


def test_an_unknown_app_is_not_paused(site: Site) -> None:
    site.chain("alpha")
    assert "alhpa" in site.says("apps", "pause", "alhpa", code=2)["error"]["what"]


def test_why_explains_a_paused_app_and_how_to_resume_it(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    site.says("apps", "pause", "a")
    said = site.why("a")
    assert said["because"].startswith("a/1 is ready to run, but its app a is paused by ")
    assert [each["kind"] for each in said["waits_for"]] == ["pause"]
    assert said["remedies"][0]["command"] == "sluice apps resume a"


def test_why_explains_a_paused_app_to_a_job_without_a_slot(site: Site) -> None:
    site.define({"a": {"job_id": "{x}", "bash_cmd": "true", "concurrency": {"pool": "db", "limit": 1}}})
    site.world.submit("a")
    site.says("apps", "pause", "a")
    assert site.why("a")["because"].startswith("a/1 may run, but its app a is paused by ")


def test_why_explains_an_open_breaker_and_its_trial(site: Site) -> None:
    site.define({"a": {"job_id": "{x}", "bash_cmd": "true", "breaker": {"fails": 1, "pause": 30}}})
    site.world.submit("a", "1")
    site.world.submit("a", "2")
    site.world.finish("a/1", Ending.ERROR)
    site.world.tick()
    said = site.why("a/2")
    assert said["because"] == (
        "a/2 is ready to run, but its app a is paused by its breaker:"
        " a round has failed, the last with: it broke"
    )
    assert said["waits_for"][0]["what"].startswith("the next trial job of a, which is due 2")
    assert said["remedies"][-1]["command"] == "sluice apps resume a"
    site.world.tick(after_s=31)
    assert "which is the trial job" in site.why("a/2")["waits_for"][0]["what"]
    assert site.says("apps", "resume", "a") == {"resumed": ["a"]}
    assert site.world.claim("a/2") is not None


def test_apps_show_includes_the_breaker(site: Site) -> None:
    site.define({"a": {"job_id": "{x}", "bash_cmd": "true", "breaker": {"fails": 20}}})
    assert site.says("apps", "show", "a")["breaker"] == {"fails": 20, "pause_s": 30.0, "pause_s_max": 600.0}


def test_apps_show_includes_the_retry_budget(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.define({"a": {"job_id": "{x}", "bash_cmd": "true", "retry_budget": {"retries": 5, "per": "1m"}}})
    assert site.says("apps", "show", "a")["retry_budget"] == {"retries": 5, "per_s": 60.0}
    assert main(["apps", "show", "a"]) == 0
    assert "5 at once, and as many more in each 1 min" in capfd.readouterr().out
