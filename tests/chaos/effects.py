"""What jobs really did, told outside the ledger: one line of JSON for each beginning and each end, on disk before the
job goes on, and lines of long ones that they are at work.

Each session of processes has a file of its own, named like its leader, so that it can be told afterwards what a killed
one was in the middle of.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Literal

from tests.appending import append

#: The folder, for whoever is started with it in the environment.
VARIABLE = "CHAOS_EFFECTS"

Event = Literal["start", "work", "end", "undo"]


def note(event: Event, *, app: str, key: str, claim: int, step: str | None = None) -> None:
    """The moment is that of the clock which no jump of the wall's moves, and which all processes of a machine share."""
    line: dict[str, object] = {"event": event, "app": app, "key": key, "claim": claim}
    line |= {"pid": os.getpid(), "at": time.monotonic()} | ({"step": step} if step else {})
    path = Path(os.environ[VARIABLE]) / f"{os.getsid(0)}.jsonl"
    append(path, json.dumps(line), durable=event != "work")


if __name__ == "__main__":
    note(
        sys.argv[1],  # type: ignore[arg-type] # as whoever wrote the command has it
        app=os.environ["SLUICE_APP"],
        key=os.environ["SLUICE_JOB"],
        claim=int(os.environ["SLUICE_CLAIM"]),
    )
