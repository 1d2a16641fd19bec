"""The previous release: the last commit before the newest migration was added, as a folder to run it from."""

import io
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from sluice.ledger.schema import migrate
from tests.live.fleet import ROOT

#: Revision of the migration that creates a ledger.
FIRST = "0001"
_MIGRATIONS = "ledger/schema/migrations/versions"
_WHICH = "from sluice.ledger.schema import migrate; print(migrate.REVISION, migrate.__file__)"


def export(folder: Path) -> Path:
    """Extract the files of the previous release. Skip the test if there is no history to take them from."""
    made = folder / "release-before"
    with ZipFile(io.BytesIO(_git("archive", "--format=zip", _commit()))) as archive:
        archive.extractall(made)
    return made


def revision(release: Path) -> str:
    """Return the schema revision for which the release was written, as its own code reports it."""
    told = subprocess.run(
        [sys.executable, "-c", _WHICH], cwd=release, capture_output=True, text=True, check=True
    ).stdout
    found, where = told.split()
    assert Path(where).is_relative_to(release), f"{where} was imported instead"
    return found


def _commit() -> str:
    if migrate.REVISION == FIRST:
        return _none("no release had another schema yet")
    try:
        root, shallow = _git("rev-parse", "--show-toplevel", "--is-shallow-repository").decode().splitlines()
    except (OSError, subprocess.CalledProcessError):
        return _none("this is no clone of the repository")
    if Path(root) != ROOT:
        return _none("this is no clone of the repository")
    if shallow == "true":
        return _none("this clone is shallow: `git fetch --unshallow`")
    newest = f"{_MIGRATIONS}/{migrate.REVISION}_*.py"
    added = _git("log", "--diff-filter=A", "--format=%H", "-1", "--", newest).decode().strip()
    return f"{added}^" if added else "HEAD"


def _none(why: str) -> str:
    """Skip the test, also under CI: no package provides a history, so a missing one is not a fault of the machine."""
    pytest.skip(f"the release before is not to be had: {why}")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout
