"""The servers that tests run on: an embedded Postgres always, others where they can be had."""

import os
from collections.abc import Iterator

import pytest

from ledger import migrate
from ledger.embedded import start
from tests.world import World


@pytest.fixture(scope="session")
def embedded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One embedded Postgres for the whole session, without fsync."""
    with start(tmp_path_factory.mktemp("embedded"), durable=False) as postgres:
        migrate.require(postgres.url)
        yield postgres.url


@pytest.fixture(scope="session", params=["embedded", "given"])
def ledger_url(request: pytest.FixtureRequest, embedded_url: str) -> str:
    """The embedded ledger, and the one of SLUICE_TEST_LEDGER_URL where that is set."""
    if request.param == "embedded":
        return embedded_url
    url = os.environ.get("SLUICE_TEST_LEDGER_URL")
    if not url:
        pytest.skip("set SLUICE_TEST_LEDGER_URL to run these on another Postgres too")
    migrate.require(url)
    return url


@pytest.fixture
def world(ledger_url: str) -> Iterator[World]:
    with World(ledger_url) as made:
        yield made
