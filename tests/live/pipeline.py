"""Three apps in a row, slow ones, and one with external work.

Each run leaves one line outside the ledger, so that the runs that really happened can be counted.
"""

import os
import time
from pathlib import Path

from sluice import app
from sluice.jobs.model.job import Job

_WORDS = {"job_id": "{x}", "identifiers": {"x": "int"}, "max_losses": 1000}


def _note(job: Job) -> None:
    line = f"{job.app} {job.key} {job.claim} {os.getpid()}\n"
    effects = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(effects, line.encode())
    finally:
        os.close(effects)


@app(**_WORDS)
def first(job: Job) -> None:
    _note(job)


@app(depends_on={"app_name": ["first"]}, **_WORDS)
def second(job: Job) -> None:
    _note(job)


@app(depends_on={"app_name": ["first", "second"]}, **_WORDS)
def third(job: Job) -> None:
    _note(job)


@app(job_id="{x}")
def patient(job: Job) -> None:
    """Run until the job is cancelled, or until a file with its key in its name appears."""
    _note(job)
    while not job.cancelled and not Path(f"{os.environ['EFFECTS']}.{job.key}").exists():
        time.sleep(0.02)


@app(job_id="{x}", job_type="python", isolate=True)
def remote(job: Job) -> None:
    """Run in a process of its own for ten minutes. The process has to be killed to stop it."""
    _note(job)
    time.sleep(600)


@app(name="far", job_id="{x}", max_losses=1000)
class Elsewhere:
    """External work that needs no process: it ends when a file with its key in its name appears."""

    poll_s = 0.05

    def run(self, job: Job) -> dict[str, str]:
        _note(job)
        return {"key": job.key, "token": job.token}

    def check(self, handle: dict[str, str]) -> str:
        is_over = Path(f"{os.environ['EFFECTS']}.{handle['key']}").exists()
        return "succeeded" if is_over else "running"

    def cancel(self, handle: dict[str, str]) -> None:
        Path(f"{os.environ['EFFECTS']}.{handle['key']}.ended").touch()
