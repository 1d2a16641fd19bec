"""Two releases in sequence, each as a folder to run it from. The newer one adds a migration.

The older one is the last commit before the newest migration was added, and the newer one is this tree. Before there is
a second migration, the older one is this tree, and the newer one is a copy with a migration that adds a column.
"""

import shutil
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest

from sluice.ledger.schema import migrate
from tests.live.fleet import ROOT

#: Revision of the migration that creates a ledger.
FIRST = "0001"
_VERSIONS = "ledger/schema/migrations/versions"
_REVISION = "from sluice.ledger.schema import migrate; print(migrate.REVISION, migrate.__file__)"
_UPGRADE = "import sys; from sluice.ledger.schema import migrate; print(migrate.upgrade(sys.argv[1]))"
_ADDITION = f'''"""An added column."""

from alembic import op

revision = "0002"
down_revision = "{FIRST}"
compatible_from = "{FIRST}"


def upgrade() -> None:
    op.execute("ALTER TABLE job ADD COLUMN added text")
'''


class Release(NamedTuple):
    root: Path

    @property
    def revision(self) -> str:
        """Revision of the schema for which the release was written, as its own code reports it."""
        found, where = self._python(_REVISION).split()
        assert Path(where).is_relative_to(self.root), f"{where} was imported instead"
        return found

    def upgrade(self, url: str) -> str:
        """Migrate the ledger with the code of the release, and return its revision."""
        return self._python(_UPGRADE, url).strip()

    def _python(self, code: str, *words: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", code, *words], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout


def two(folder: Path) -> tuple[Release, Release]:
    """Return the older and the newer release. Skip the test if there is no history to take the older one from."""
    if migrate.REVISION != FIRST:
        return _before(folder / "release-before"), Release(ROOT)
    return Release(ROOT), _after(folder / "release-after")


def _after(made: Path) -> Release:
    """Copy the tracked files of this tree, and add a migration."""
    for name in _git("ls-files", "-z").decode().split("\0"):
        if name and not name.startswith(("tests/", "docs/")):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, made / name, follow_symlinks=False)
    (made / _VERSIONS / "0002_addition.py").write_text(_ADDITION)
    module = made / "ledger" / "schema" / "migrate.py"
    text = module.read_text()
    assert text.count(f'REVISION = "{FIRST}"\n') == 1
    module.write_text(text.replace(f'REVISION = "{FIRST}"\n', 'REVISION = "0002"\n'))
    return Release(made)


def _before(made: Path) -> Release:
    """Extract the files of the commit before the newest migration."""
    with tarfile.open(fileobj=BytesIO(_git("archive", _commit_before()))) as archive:
        archive.extractall(made, filter="data")
    return Release(made)


def _commit_before() -> str:
    if _git("rev-parse", "--is-shallow-repository").decode().strip() == "true":
        pytest.skip("this clone is shallow: `git fetch --unshallow`")
    newest = f"{_VERSIONS}/{migrate.REVISION}_*.py"
    added = _git("log", "--diff-filter=A", "--format=%H", "-1", "--", newest).decode().strip()
    return f"{added}^" if added else "HEAD"


def _git(*words: str) -> bytes:
    """Run git in this tree. Skip the test outside of a clone: no package brings a history."""
    try:
        root = subprocess.run(
            ["git", "rev-parse", "--show-toplevel"], cwd=ROOT, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone of the repository")
    if Path(root.stdout.decode().strip()) != ROOT:
        pytest.skip("this is no clone of the repository")
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout
