"""Servers for the live tests, and a ledger of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from tests.homes import started_ledger
from tests.servers import forget_owner, rabbitmq_url, redis_url


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[str]:
    with rabbitmq_url() as url:
        yield url


@pytest.fixture(scope="session")
def redis() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture(autouse=True)
def nobodys(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove the owner of each used broker. Tests have ledgers of different installations, and share servers."""
    used = [
        str(request.getfixturevalue(name))
        for name in ("rabbitmq", "redis")
        if name in request.fixturenames or f"[{name}" in request.node.name
    ]
    yield
    for url in used:
        forget_owner(url)


@pytest.fixture(params=["rabbitmq", "redis"])
def broker_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def live_ledger_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a Postgres that is durable, because these tests kill processes and servers."""
    with started_ledger(tmp_path_factory.mktemp("live"), durable=True) as url:
        yield url


@pytest.fixture
def ledger(live_ledger_url: str) -> Iterator[Ledger]:
    made = Ledger(live_ledger_url)
    made.transact(empty)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
