"""Apps whose jobs print a numbered line each 100 ms, and note the number in a file, until they are killed or released.

An isolated function and a command print like a function in a thread. ``EFFECTS`` is the folder of the notes.
"""

# ruff: noqa: T201  # Functions of users may print.

import itertools
import logging
import os
import sys
import time
from pathlib import Path

from sluice import Step, app, saga

FOLDER = Path(os.environ.get("EFFECTS", ".")).parent
PAUSE_S = 0.1


def count(name: str, key: str) -> None:
    for number in itertools.count():
        print(f"{name} {key} {number}")
        (FOLDER / f"{name}-{key}").write_text(str(number))
        if (FOLDER / "released").exists():
            break
        time.sleep(PAUSE_S)


@app(job_id="{n}")
def thread(n):
    count("thread", n)


@app(job_id="{n}", isolate=True)
def apart(n):
    count("apart", n)


class Count(Step):
    def do(self, flight):
        count("trip", flight.inputs["n"])


@saga(job_id="{n}")
def trip(flight):
    return [Count()]


@app(job_id="{n}")
class managed:  # noqa: N801  # Its app has this name.
    poll_s = PAUSE_S

    def run(self, job):
        return {"n": job.key}

    def check(self, handle):
        note = FOLDER / f"managed-{handle['n']}"
        number = int(note.read_text()) + 1 if note.exists() else 0
        print(f"managed {handle['n']} {number}")
        note.write_text(str(number))
        return "succeeded" if (FOLDER / "released").exists() else "running"

    def cancel(self, handle): ...


@app(job_id="{n}")
def chatter(n):
    """Print in two pieces, to both streams and by a logger, as fast as possible."""
    log = logging.getLogger("acme.chatter")
    for number in range(200):
        sys.stdout.write(f"<{n} ")
        sys.stdout.write(f"{number}>\n")
        print(f"<{n} {number}>", file=sys.stderr)
        log.info("<%s %d>", n, number)
