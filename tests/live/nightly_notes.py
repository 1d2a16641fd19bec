"""Effects of the apps in ``nightly`` outside the ledger, one line per run, and the files that they wait for."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tests.appending import append


def note(app: str, work_ids: Sequence[int]) -> None:
    """Note the app, its first and its last work ID, and the process."""
    append(os.environ["EFFECTS"], f"{app} {work_ids[0]} {work_ids[-1]} {os.getpid()}")


def hold(name: object) -> None:
    """Wait until the file with this name exists."""
    while not Path(f"{os.environ['EFFECTS']}.{name}").exists():
        time.sleep(0.02)
