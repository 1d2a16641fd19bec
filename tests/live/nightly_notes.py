"""What the files of ``nightly`` leave behind and wait for: each run a line outside the ledger."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tests.appending import append


def note(app: str, work_ids: Sequence[int]) -> None:
    """The app, its first and its last work ID, and the process."""
    append(os.environ["EFFECTS"], f"{app} {work_ids[0]} {work_ids[-1]} {os.getpid()}")


def hold(name: object) -> None:
    """Until somebody lets it go."""
    while not Path(f"{os.environ['EFFECTS']}.{name}").exists():
        time.sleep(0.02)
