"""``sluice demand``: the work that is left, for people and for programs."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import pytest

from sluice.jobs.errors import Unreachable
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads.backlog import Demand
from sluice.ops.cli.main import main
from sluice.ops.documents.backlog import Recent
from tests.ops.console_client import Asker
from tests.ops.site import WORDS, Site
from tests.ops.typist import Typist
from tests.world import World

NOTHING = {"ready": 0, "running": 0, "soon": 0, "blocked": 0, "elsewhere": 0, "demand": 0, "at_least": False}


def test_demand_lists_each_app_of_the_definitions(site: Site) -> None:
    site.chain("a -> b -> c")
    site.world.submit("c")
    a = {"app": "a", **NOTHING, "ready": 1, "demand": 1}
    b = {"app": "b", **NOTHING, "soon": 1, "demand": 1}
    c = {"app": "c", **NOTHING}
    told = {"demand": 2, "at_least": False, "horizon_s": 60.0, "apps": [a, b, c]}
    assert site.says("demand") == told
    assert site.says("demand", "b", "b") == {**told, "demand": 1, "apps": [b]}
    assert site.says("demand", "a", "c") == {**told, "demand": 1, "apps": [a, c]}


def test_the_horizon_is_an_option(site: Site) -> None:
    site.define({"a": WORDS | {"start_after": "2999-01-01T00:00:00Z"}})
    site.world.submit("a")
    assert site.says("demand", "a")["demand"] == 0
    assert site.says("demand", "a", "--horizon", "1000000w")["demand"] == 1


def test_demand_is_printed_as_a_table(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    assert main(["demand"]) == 0
    head, *rows = capfd.readouterr().out.splitlines()
    assert head.split() == ["app", "demand", "ready", "running", "soon", "blocked", "external"]
    assert [row.split() for row in rows] == [
        ["a", "1", "1", "0", "0", "0", "0"],
        ["b", "1", "0", "0", "1", "0", "0"],
    ]


def test_an_unknown_app_and_an_invalid_horizon_are_refused(site: Site) -> None:
    site.chain("a -> b")
    assert "There is no app z." in str(site.says("demand", "z", code=2))
    assert "is not a duration" in str(site.says("demand", "--horizon", "soon", code=2))


def test_demand_of_an_app_needs_no_definitions(desk: Typist) -> None:
    assert desk.asks("demand", "whatever", SLUICE_APPS="")["apps"] == [{"app": "whatever", **NOTHING}]


def test_the_console_returns_the_demand_for_autoscalers(world: World) -> None:
    asker = Asker(world)
    world.submit("b", None, keys=["1", "2", "3"])
    a = {"app": "a", **NOTHING, "ready": 3, "demand": 3}
    b = {"app": "b", **NOTHING, "soon": 3, "demand": 3}
    told = {"demand": 6, "at_least": False, "horizon_s": 60.0}
    assert _told(asker, "") == {**told, "apps": [a, b]}
    assert _told(asker, "app=b") == {**told, "demand": 3, "apps": [b]}
    assert _told(asker, "app=b&app=new.one") == {
        **told,
        "demand": 3,
        "apps": [b, {"app": "new.one", **NOTHING}],
    }
    assert asker.asks("/api/demand?app=a&until=now", method="GET").status == HTTPStatus.BAD_REQUEST


def test_simultaneous_requests_share_one_query_of_the_ledger(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apps("a")
    world.submit("a")
    looks = []

    def ask(question: Callable[[Tx], list[Demand]]) -> list[Demand]:
        looks.append(question)
        return world.ledger.transact(question)

    recent = Recent(ask)
    with ThreadPoolExecutor(8) as askers:
        found = [*askers.map(lambda app: recent.wanted([app]).demand, ["a", "b"] * 20)]
    assert found == [1, 0] * 20
    assert len(looks) == 1
    monkeypatch.setattr("sluice.ops.documents.backlog.RECENT_S", 0.0)
    world.finish("a")
    assert recent.wanted(["a"]).demand == 0
    assert len(looks) == 2


def test_requests_share_the_error_of_an_unreachable_ledger() -> None:
    looks = []

    def ask(question: Callable[[Tx], list[Demand]]) -> list[Demand]:
        looks.append(question)
        raise Unreachable("The ledger does not answer.")

    recent = Recent(ask)
    for _ in range(3):
        with pytest.raises(Unreachable, match="does not answer"):
            recent.wanted(["a"])
    assert len(looks) == 1


def _told(asker: Asker, query: str) -> Any:
    said = asker.asks(f"/api/demand?{query}", method="GET")
    assert said.status == HTTPStatus.OK, said.document
    return json.loads(said.body)
