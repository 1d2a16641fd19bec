"""Tiers, the clean-up after a run, and the servers that tests run on."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings

from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.fixtures import scratch_ledger
from tests import leftovers
from tests.homes import started_ledger
from tests.tiers import TIERS, tier
from tests.world import KeptLedger, World

GIVEN = os.environ.get("SLUICE_TEST_LEDGER_URL", "")

# How long an example takes depends on the machine, so no example has a deadline.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("quick")

_OPENED = pytest.StashKey[ExitStack]()
_RUN = pytest.StashKey[leftovers.Run]()


#: Megabytes that a test process may have grown to by its end. The largest seen had 326.
MEMORY_MB_MAX = 400


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, help="collect only the tests of this tier (tests/tiers.py)")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_OPENED] = ExitStack()
    config.stash[_RUN] = config.stash[_OPENED].enter_context(leftovers.run_without_leftovers())


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_OPENED].close()


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Fail a run that was not interrupted and leaves a process behind."""
    yield
    if not session.config.stash[_RUN].is_outermost or session.exitstatus == pytest.ExitCode.INTERRUPTED:
        return
    if left := leftovers.survivors():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        sys.stderr.write("\n".join(["", "These processes have outlived the tests:", *left, ""]))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files of other tiers, and folders with nothing else.

    They are not imported, because they may need missing things.
    """
    wanted = config.getoption("--tier")
    if not wanted:
        return None
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    return None if any(tier(path) == wanted for path in files) else True


@pytest.fixture(scope="session", autouse=True)
def bounded_memory() -> Iterator[None]:
    """Fail the last test of a process that has grown too large. It is measured on Linux alone."""
    yield
    status = Path("/proc/self/status")
    resident_kb = int(status.read_text().partition("VmRSS:")[2].split()[0]) if status.exists() else 0
    assert resident_kb < MEMORY_MB_MAX * 1024, f"this test process has grown to {resident_kb // 1024} MB"


@pytest.fixture(scope="session")
def embedded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of an embedded Postgres for the whole session, without fsync."""
    with started_ledger(tmp_path_factory.mktemp("embedded")) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET deadlock_timeout = '50ms'")
            connection.execute("SELECT pg_reload_conf()")
        yield url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the ledger on the embedded Postgres, and also on ``SLUICE_TEST_LEDGER_URL`` if it is set."""
    if "ledger_url" in metafunc.fixturenames:
        kinds = ["embedded", *(["given"] if GIVEN else [])]
        metafunc.parametrize("ledger_url", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def ledger_url(request: pytest.FixtureRequest, embedded_url: str) -> Iterator[str]:
    """Yield the URL of a ledger.

    On a given server, each process has a database of its own, which is dropped at the end.
    """
    if request.param == "embedded":
        yield embedded_url
    else:
        with scratch_ledger(in_schema(GIVEN, SCHEMA)) as url:
            yield url


@pytest.fixture(scope="session")
def kept_ledger(ledger_url: str) -> Iterator[KeptLedger]:
    with closing(KeptLedger(ledger_url, connections=2)) as ledger:
        yield ledger


@pytest.fixture
def world(ledger_url: str, kept_ledger: KeptLedger) -> Iterator[World]:
    """Yield a world with the connections of the worlds before it, because opening them takes longer than most tests."""
    kept_ledger.forget_statements()
    with World(ledger_url, kept_ledger) as made:
        yield made
