"""Home folders of embedded ledgers. One is made and migrated for the whole run, and copied from then on.

Making one takes seconds, copying it a tenth of that.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.embedded import start
from sluice.ledger.schema import migrate
from tests.leftovers import FOLDER


@contextmanager
def started_ledger(home: Path, *, durable: bool = False) -> Iterator[str]:
    """Start an empty ledger in this home, which must not exist yet. Yield its address.

    The address names the schema, so that a plain connection to it finds the tables.
    """
    shutil.copytree(_template(), home, symlinks=True, dirs_exist_ok=True)
    with start(home, durable=durable) as postgres:
        yield in_schema(postgres.url, SCHEMA)


def _template() -> Path:
    """Return the home to copy. The first process of the run makes it, and other processes wait for that."""
    folder = Path(os.environ.get(FOLDER) or tempfile.mkdtemp())
    home = folder / "ledger"
    with (folder / "ledger.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            unfinished = folder / "ledger.unfinished"
            with start(unfinished, durable=False) as postgres:
                migrate.upgrade(postgres.url)
            unfinished.rename(home)
    return home
