"""Effects of jobs outside of any ledger and broker: a line at their start, and one at their end."""

import os
import random
import time
from collections import Counter
from pathlib import Path

from msgspec import Struct

from tests.appending import append

EFFECTS = "ORDEAL_EFFECTS"


def work(n: int) -> None:
    """Do the work of a job, in any system. It takes from 20 to 120 ms, always the same for one number."""
    append(os.environ[EFFECTS], f"start {n}")
    time.sleep(random.Random(n).uniform(0.02, 0.12))
    append(os.environ[EFFECTS], f"end {n}")


class Done(Struct, frozen=True):
    """Number of starts and of completions of each job."""

    started: Counter[int]
    ended: Counter[int]


def done(path: Path) -> Done:
    words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return Done(
        started=Counter(int(n) for event, n in words if event == "start"),
        ended=Counter(int(n) for event, n in words if event == "end"),
    )
