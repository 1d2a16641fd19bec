"""``sluice demand``: what there is to do, as people and programs are told of it."""

import pytest

from ops.cli.main import main
from tests.ops.site import WORDS, Site
from tests.ops.typist import Typist

NOTHING = {"ready": 0, "running": 0, "soon": 0, "blocked": 0, "elsewhere": 0, "demand": 0, "at_least": False}


def test_each_app_of_the_definitions_is_told_of(site: Site) -> None:
    site.chain("a -> b -> c")
    site.world.submit("c")
    a = {"app": "a", **NOTHING, "ready": 1, "demand": 1}
    b = {"app": "b", **NOTHING, "soon": 1, "demand": 1}
    c = {"app": "c", **NOTHING}
    told = {"demand": 2, "at_least": False, "horizon_s": 60.0, "apps": [a, b, c]}
    assert site.says("demand") == told
    assert site.says("demand", "b", "b") == {**told, "demand": 1, "apps": [b]}
    assert site.says("demand", "a", "c") == {**told, "demand": 1, "apps": [a, c]}


def test_a_horizon_may_be_given(site: Site) -> None:
    site.define({"a": WORDS | {"start_after": "2999-01-01T00:00:00Z"}})
    site.world.submit("a")
    assert site.says("demand", "a")["demand"] == 0
    assert site.says("demand", "a", "--horizon", "1000000w")["demand"] == 1


def test_people_are_told_in_a_table(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    assert main(["demand"]) == 0
    head, *rows = capfd.readouterr().out.splitlines()
    assert head.split() == ["app", "demand", "ready", "running", "soon", "blocked", "elsewhere"]
    assert [row.split() for row in rows] == [
        ["a", "1", "1", "0", "0", "0", "0"],
        ["b", "1", "0", "0", "1", "0", "0"],
    ]


def test_an_app_that_is_not_there_and_a_horizon_that_is_none_are_refused(site: Site) -> None:
    site.chain("a -> b")
    assert "There is no app z." in str(site.says("demand", "z", code=2))
    assert "is not a duration" in str(site.says("demand", "--horizon", "soon", code=2))


def test_it_needs_no_definitions(desk: Typist) -> None:
    assert desk.asks("demand", "whatever", SLUICE_APPS="")["apps"] == [{"app": "whatever", **NOTHING}]
