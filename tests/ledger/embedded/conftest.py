"""Homes of embedded servers. Tests that leave their home unchanged share one."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.ledger.embedded import start
from tests.ledger.embedded.homes import is_stopped, tell


@pytest.fixture(scope="package")
def ground() -> Iterator[Path]:
    """Create a folder with a short path that every user may pass through. Remove it: each server takes 40 MB."""
    with tempfile.TemporaryDirectory(prefix="e") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="package")
def seed(ground: Path) -> Path:
    """Create a home in which a server was started once. It holds the word `kept`."""
    with start(ground / "seed", durable=False) as postgres:
        tell(postgres.url, "CREATE TABLE word AS SELECT 'kept' AS word")
    return ground / "seed"


@pytest.fixture
def home(seed: Path) -> Iterator[Path]:
    """Yield the seed itself, for tests that leave it unchanged. Stop its server afterwards."""
    yield seed
    if not is_stopped(seed):
        start(seed).close()


@pytest.fixture
def fresh(ground: Path) -> Path:
    """Return the path of a home that does not exist yet, in a folder that is closed to other users."""
    return Path(tempfile.mkdtemp(dir=ground)) / "home"


@pytest.fixture
def copy(seed: Path, fresh: Path) -> Path:
    """Return a copy of the seed, for tests that damage it."""
    return shutil.copytree(seed, fresh, symlinks=True)
