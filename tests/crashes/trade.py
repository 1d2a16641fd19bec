"""The apps of a small world of everything.

There are a diamond, jobs that are tried again, external work, and jobs and steps that write to the ledger's own
database. Other jobs wait to be cancelled, or belong to a schedule. ``declared`` has the apps that are not Python.

Each run leaves one line outside the ledger: the app, the key and the claim. The result of most runs is the number of
the claim.
"""

import os
import time
from pathlib import Path

from sluice import Flight, Step, app, saga, schedule
from sluice.jobs.model.job import Job
from tests.appending import append

_WORDS = {"job_id": "{n}", "identifiers": {"n": "int"}, "max_losses": 1000}
#: Number of failures of each ``shaky`` job.
FAILS = 2


def note(job: Job | Flight) -> None:
    append(os.environ["EFFECTS"], f"{job.app} {job.key} {job.claim}")


@app(**_WORDS)
def top(job: Job) -> int:
    note(job)
    return job.claim


@app(notify=[{"on": ["succeeded"], "webhook": "${NOTICE_URL}"}], **_WORDS)
def notice(job: Job) -> int:
    """Succeed, of which the receiver of the world is notified."""
    note(job)
    return job.claim


@app(depends_on={"app_name": ["top"]}, **_WORDS)
def left(job: Job) -> int:
    note(job)
    return job.claim


@app(depends_on={"app_name": ["top"]}, **_WORDS)
def right(job: Job) -> int:
    note(job)
    return job.claim


@app(depends_on={"app_name": ["left", "right"]}, **_WORDS)
def bottom(job: Job) -> int:
    note(job)
    return job.claim


@app(max_fails=1000, retry={"rule": "fixed", "seconds": 0.2}, **_WORDS)
def shaky(job: Job) -> None:
    """Fail the first times, in whichever process it runs."""
    note(job)
    marks = [Path(f"{os.environ['EFFECTS']}.shaky.{job.key}.{number}") for number in range(FAILS)]
    for mark in marks:
        if not mark.exists():
            mark.touch()
            raise RuntimeError("not yet")


@app(depends_on={"app_name": ["shaky"]}, **_WORDS)
def steadied(job: Job) -> int:
    note(job)
    return job.claim


@app(**_WORDS)
def cutter(job: Job) -> int:
    """Add two jobs, and one that needs both."""
    note(job)
    job.expand(slice_, [{"m": 1}, {"m": 2}], then=plate)
    return job.claim


@app(**_WORDS | {"job_id": "{n}_{m}", "name": "slice"})
def slice_(job: Job) -> int:
    note(job)
    return job.claim


@app(**_WORDS)
def plate(job: Job) -> int:
    note(job)
    return job.claim


@app(**_WORDS)
def banker(job: Job) -> int:
    """Write a row in one transaction with the success."""
    note(job)
    with job.transaction() as connection:
        connection.execute("INSERT INTO banked (key) VALUES (%s)", (job.key,))
    return job.claim


class Pay(Step):
    """Write a row in one transaction with the end of the step."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def do(self, flight: Flight) -> None:
        note(flight)
        with flight.transaction() as connection:
            connection.execute("INSERT INTO paid (key, step) VALUES (%s, %s)", (flight.key, self._name))

    def undo(self, flight: Flight) -> None:
        with flight.transaction() as connection:
            connection.execute("DELETE FROM paid WHERE key = %s AND step = %s", (flight.key, self._name))


@saga(job_id="{n}", identifiers={"n": "int"})
def payer(flight: Flight) -> list[Step]:
    return [Pay("debit"), Pay("credit")]


@app(**_WORDS)
def idler(job: Job) -> None:
    """Run until the job is stopped."""
    note(job)
    while not job.cancelled:
        time.sleep(0.02)


@app(name="far", is_long_running=True, max_fails=0, **_WORDS)
class Elsewhere:
    """External work that is over at its first poll, and so has failed, because it should run until it is stopped."""

    poll_s = 0.05

    def run(self, job: Job) -> dict[str, str]:
        note(job)
        return {"key": job.key}

    def check(self, handle: dict[str, str]) -> str:
        return "succeeded"

    def cancel(self, handle: dict[str, str]) -> None:
        """Do nothing, because the work has ended."""


@app(**_WORDS)
def bell(job: Job) -> None:
    note(job)


rings = schedule(id="rings", app=bell, every="1s", key="{due:%Y%m%d%H%M%S}", catch_up="all")
