"""``--apps redis://…``: definitions in Redis, as an operator names them."""

import json
from collections.abc import Iterator

import pytest
from redis import Redis

from tests.ops.conftest import APPS
from tests.ops.test_start import SLOW, imported
from tests.ops.typist import Typist
from tests.servers import redis_url


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture(scope="module", params=["text", "hash"])
def address(request: pytest.FixtureRequest, server: str) -> str:
    with Redis.from_url(server) as client:
        if request.param == "text":
            client.set("text", json.dumps(APPS))
        else:
            client.hset("hash", mapping={app: json.dumps(words) for app, words in APPS.items()})
    return f"{server}/{request.param}"


def test_parents_and_children_are_determined_by_definitions_in_redis(offline: Typist, address: str) -> None:
    fetches = [["fetch", "20261120_graz"], ["fetch", "20261120_oslo"]]
    told = offline.asks("--apps", address, "parents", "report", "2026-11-20", SLUICE_APPS="")
    assert told == [{"group": "default", "jobs": fetches}]
    assert offline.asks("children", "fetch", "20261120_oslo", SLUICE_APPS=address) == [["report", "20261120"]]
    assert offline.asks("--apps", address, "apps", "show", "report")["origin"] == address


def test_redis_is_the_only_driver_that_is_imported(offline: Typist, address: str) -> None:
    assert imported(offline, f"--apps {address} parents report 20261120") & SLOW == {"redis"}


def test_errors_do_not_contain_the_password(offline: Typist, server: str) -> None:
    missing = f"{server}/nowhere"
    away = "redis://user:secret@127.0.0.1:1/0/apps"
    said = offline.types("--apps", missing, "--apps", away, "--json", "apps", "check")
    assert said.code == 2
    assert [(fault["source"], fault["app"]) for fault in said.document["errors"]] == [
        ("redis://127.0.0.1:1/0/apps", ""),
        (missing, ""),
    ]
    assert "there is no such key; SET it to the JSON text" in said.err
    assert "Redis does not answer" in said.err
    assert "secret" not in said.err + said.out
