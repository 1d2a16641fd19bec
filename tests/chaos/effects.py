"""Effects of jobs, recorded outside the ledger as lines of JSON.

A job writes a line when it begins and when it ends, which is on disk before the job continues. Long jobs also write
lines while they work. Each session of processes has a file of its own, named after its leader. So the jobs of a killed
session can be found afterwards.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Literal

from tests.appending import append

#: Environment variable with the folder of the effects, for each process that is started.
VARIABLE = "CHAOS_EFFECTS"

Event = Literal["start", "work", "end", "undo"]


def note(event: Event, *, app: str, key: str, claim: int, step: str | None = None) -> None:
    """Write a line. Its time is of the monotonic clock, which wall clock jumps do not move and all processes share."""
    line: dict[str, object] = {"event": event, "app": app, "key": key, "claim": claim}
    line |= {"pid": os.getpid(), "at": time.monotonic()} | ({"step": step} if step else {})
    path = Path(os.environ[VARIABLE]) / f"{os.getsid(0)}.jsonl"
    append(path, json.dumps(line), durable=event != "work")


if __name__ == "__main__":
    note(
        sys.argv[1],  # type: ignore[arg-type] # the command passes a valid event
        app=os.environ["SLUICE_APP"],
        key=os.environ["SLUICE_JOB"],
        claim=int(os.environ["SLUICE_CLAIM"]),
    )
