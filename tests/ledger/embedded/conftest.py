"""Homes of embedded servers, made once for all of these tests where a test leaves them as they were."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.ledger.embedded import start
from tests.ledger.embedded.homes import is_stopped, tell


@pytest.fixture(scope="package")
def ground() -> Iterator[Path]:
    """A short path that every user may pass through, removed at the end: each server fills 40 MB."""
    with tempfile.TemporaryDirectory(prefix="e") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="package")
def seed(ground: Path) -> Path:
    """A home whose server was started once, and which holds the word `kept`."""
    with start(ground / "seed", durable=False) as postgres:
        tell(postgres.url, "CREATE TABLE word AS SELECT 'kept' AS word")
    return ground / "seed"


@pytest.fixture
def home(seed: Path) -> Iterator[Path]:
    """The seed itself, for tests that leave it as they found it."""
    yield seed
    if not is_stopped(seed):
        start(seed).close()


@pytest.fixture
def fresh(ground: Path) -> Path:
    """A home that is not there yet, in a folder that is closed to others."""
    return Path(tempfile.mkdtemp(dir=ground)) / "home"


@pytest.fixture
def copy(seed: Path, fresh: Path) -> Path:
    """A home to spoil."""
    return shutil.copytree(seed, fresh, symlinks=True)
