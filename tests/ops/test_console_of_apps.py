"""Pausing and resuming apps by HTTP, with entries in the audit."""

from collections.abc import Iterator

import pytest

from tests.ops.caller import Caller, console
from tests.ops.orders import drained
from tests.ops.typist import Typist


@pytest.fixture
def caller(orders: Typist) -> Iterator[Caller]:
    with console(orders) as caller:
        yield caller


def test_an_app_is_paused_and_resumed(caller: Caller, orders: Typist) -> None:
    assert caller.posts("/api/apps/fetch/pause").document == {"paused": ["fetch"]}
    assert caller.posts("/api/apps/fetch/pause").document == {"paused": []}
    orders.asks("submit", "fetch", "2026-11-20_oslo")
    drained(orders)
    (queue,) = [each for each in caller.reads("/api/overview")["queues"] if each["app"] == "fetch"]
    assert (queue["paused"], queue["ready"]) == (True, 1)
    assert caller.posts("/api/apps/fetch/resume").document == {"resumed": ["fetch"]}
    drained(orders)
    assert orders.asks("show", "fetch", "2026-11-20_oslo")["state"] == "succeeded"
    deeds = [each for each in caller.reads("/api/audit")["audit"] if each["action"].startswith("apps")]
    assert [(each["action"], each["target"], each["result"]) for each in deeds] == [
        ("apps resume", {"app": "fetch"}, {"resumed": ["fetch"]}),
        ("apps pause", {"app": "fetch"}, {"paused": ["fetch"]}),
    ]


def test_an_unknown_app_cannot_be_paused(caller: Caller) -> None:
    assert caller.posts("/api/apps/fetsh/pause").status == 422
