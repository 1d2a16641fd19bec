"""What the files of ``nightly`` leave behind and wait for: each run a line outside the ledger."""

import os
import time
from collections.abc import Sequence
from pathlib import Path


def note(app: str, work_ids: Sequence[int]) -> None:
    """The app, its first and its last work ID, and the process."""
    line = f"{app} {work_ids[0]} {work_ids[-1]} {os.getpid()}\n"
    effects = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(effects, line.encode())
    finally:
        os.close(effects)


def hold(name: object) -> None:
    """Until somebody lets it go."""
    while not Path(f"{os.environ['EFFECTS']}.{name}").exists():
        time.sleep(0.02)
