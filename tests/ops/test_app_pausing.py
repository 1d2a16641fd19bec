"""``sluice apps pause`` and ``apps resume``, and how what they hold back is told."""

from tests.ops.site import Site


def test_an_app_is_paused_and_resumed(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b", "1")
    assert site.says("apps", "pause", "a") == {"paused": ["a"]}
    assert site.says("apps", "pause", "a", "b") == {"paused": ["b"]}
    assert site.world.claim("a") is None
    assert site.says("apps", "resume", "a", "b", "c") == {"resumed": ["a", "b"]}
    site.world.finish("a")


def test_one_that_is_mistyped_is_not_paused(site: Site) -> None:
    site.chain("alpha")
    assert "alhpa" in site.says("apps", "pause", "alhpa", code=2)["error"]["what"]


def test_why_says_who_has_paused_it_and_how_it_goes_on(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    site.says("apps", "pause", "a")
    said = site.why("a")
    assert said["because"].startswith("a/1 is ready to run, but its app a is paused by ")
    assert [each["kind"] for each in said["waits_for"]] == ["pause"]
    assert said["remedies"][0]["command"] == "sluice apps resume a"


def test_why_says_so_of_one_in_line_for_a_pool(site: Site) -> None:
    site.define({"a": {"job_id": "{x}", "bash_cmd": "true", "concurrency": {"pool": "db", "limit": 1}}})
    site.world.submit("a")
    site.says("apps", "pause", "a")
    assert site.why("a")["because"].startswith("a/1 may run, but its app a is paused by ")
