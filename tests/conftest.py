"""The servers that tests run on: an embedded Postgres always, others where they can be had."""

import os
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import settings

from ledger import migrate
from ledger.embedded import start
from tests.world import World

GIVEN = os.environ.get("SLUICE_TEST_LEDGER_URL", "")

# How long an example takes is a matter of the machine, and of whoever else works on it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def embedded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One embedded Postgres for the whole session, without fsync."""
    with start(tmp_path_factory.mktemp("embedded"), durable=False) as postgres:
        migrate.require(postgres.url)
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET deadlock_timeout = '50ms'")
            connection.execute("SELECT pg_reload_conf()")
        yield postgres.url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whatever runs on the ledger runs on the embedded one, and on SLUICE_TEST_LEDGER_URL's where that is set."""
    if "ledger_url" in metafunc.fixturenames:
        kinds = ["embedded", *(["given"] if GIVEN else [])]
        metafunc.parametrize("ledger_url", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def ledger_url(request: pytest.FixtureRequest, embedded_url: str) -> str:
    if request.param == "embedded":
        return embedded_url
    migrate.require(GIVEN)
    return GIVEN


@pytest.fixture
def world(ledger_url: str) -> Iterator[World]:
    with World(ledger_url) as made:
        yield made
