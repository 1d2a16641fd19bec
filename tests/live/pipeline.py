"""Three apps in a row. Each run leaves one line outside the ledger, so that what really ran can be counted."""

import os

from jobs import app
from jobs.job import Job

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
