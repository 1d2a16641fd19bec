"""Apps that undo each other's jobs, for workers that are killed. The fate of a job is drawn from its name.

A voyage is booked, has four seats, is paid, and then has two branches that meet in ``arrive``. A season is laid out as
a whole, then by days, then by halves, and published. Each run of a job writes one line to a shared file. The effect of
a job is a file of its own, which the job that undoes it removes.
"""

import os
import random
from datetime import date
from pathlib import Path

from sluice import app
from sluice.jobs.model.job import Job
from tests.appending import append

DAYS = 6
FIRST_DAY = date(2024, 1, 1)
#: Days from the first day of a season to the first day of the next.
APART = DAYS + 4
SEATS = 4
#: Position of each app in its saga. An app of a higher rank is undone before apps of a lower rank.
RANKS = {
    "book": 0,
    "seat": 1,
    "pay": 2,
    "mail": 3,
    "note": 3,
    "arrive": 4,
    "lay": 0,
    "fill": 1,
    "sum": 2,
    "publish": 3,
}
UNDOES = {
    "unbook": "book",
    "unseat": "seat",
    "refund": "pay",
    "unlay": "lay",
    "unfill": "fill",
    "unsum": "sum",
}
#: App that cannot be undone. Its jobs are named in the reason of a compensation; apps without an undo are not.
IRREVERSIBLE = "mail"
_FAILING = {"seat": 0.02, "pay": 0.1, "note": 0.05, "arrive": 0.3, "fill": 0.02, "sum": 0.08, "publish": 0.3}
_STUCK = 0.04
_WORDS = {"max_losses": 1000, "max_fails": 1}
_VOYAGE = {"job_id": "{n}", **_WORDS}
_SEASON = {"partition": "day", **_WORDS}


def fails(name: str, key: str) -> bool:
    """Return whether this job fails, however often it is tried."""
    share = _STUCK if name in UNDOES else _FAILING.get(name, 0.0)
    return random.Random(f"{name}/{key}").random() < share


def undone_by(name: str, key: str) -> tuple[str, str]:
    """Return the job that this one undoes. Of ``unseat``, the identifiers are in the opposite order."""
    return UNDOES[name], "_".join(reversed(key.split("_"))) if name == "unseat" else key


def _stumbles(job: Job) -> bool:
    """Return whether the first round of this job fails, and later ones do not."""
    return job.round == 0 and random.Random(f"{job.app}/{job.key}/first").random() < 0.1


def _note(job: Job) -> None:
    append(os.environ["EFFECTS"], f"{job.app} {job.key}")


def _made(name: str, key: str) -> Path:
    return Path(f"{os.environ['EFFECTS']}.made.{name}.{key}")


def _does(job: Job) -> None:
    if fails(job.app, job.key) or _stumbles(job):
        raise RuntimeError("it cannot be had")
    _note(job)
    _made(job.app, job.key).touch()


def _undoes(job: Job) -> None:
    _note(job)
    name, key = undone_by(job.app, job.key)
    if _stumbles(job) or (fails(job.app, job.key) and not Path(f"{os.environ['EFFECTS']}.mended").exists()):
        raise RuntimeError("the way back is blocked")
    _made(name, key).unlink(missing_ok=True)


@app(compensate="unbook", **_VOYAGE)
def book(job: Job) -> None:
    _does(job)


@app(
    job_id="{n}_{place}",
    identifiers={"place": "int"},
    autofill_values={"place": f"0:{SEATS}"},
    depends_on={"app_name": ["book"]},
    compensate="unseat",
    **_WORDS,
)
def seat(job: Job) -> None:
    _does(job)


@app(depends_on={"app_name": ["seat"], "place": "all"}, compensate="refund", **_VOYAGE)
def pay(job: Job) -> None:
    _does(job)


@app(depends_on={"app_name": ["pay"]}, compensate="irreversible", **_VOYAGE)
def mail(job: Job) -> None:
    _does(job)


@app(depends_on={"app_name": ["pay"]}, **_VOYAGE)
def note(job: Job) -> None:
    _does(job)


@app(depends_on={"app_name": ["mail", "note"]}, **_VOYAGE)
def arrive(job: Job) -> None:
    _does(job)


@app(step_size=DAYS, compensate="unlay", **_SEASON)
def lay(job: Job) -> None:
    _does(job)


@app(table_dependencies=[{"table": "lay"}], compensate="unfill", **_SEASON)
def fill(job: Job) -> None:
    _does(job)


@app(name="sum", step_size=DAYS // 2, table_dependencies=[{"table": "fill"}], compensate="unsum", **_SEASON)
def halve(job: Job) -> None:
    _does(job)


@app(step_size=DAYS, table_dependencies=[{"table": "sum"}], **_SEASON)
def publish(job: Job) -> None:
    _does(job)


@app(**_VOYAGE)
def unbook(job: Job) -> None:
    _undoes(job)


@app(job_id="{place}_{n}", identifiers={"place": "int"}, **_WORDS)
def unseat(job: Job) -> None:
    _undoes(job)


@app(**_VOYAGE)
def refund(job: Job) -> None:
    _undoes(job)


@app(job_id="{key}", **_WORDS)
def unlay(job: Job) -> None:
    _undoes(job)


@app(job_id="{key}", **_WORDS)
def unfill(job: Job) -> None:
    _undoes(job)


@app(name="unsum", job_id="{key}", **_WORDS)
def double(job: Job) -> None:
    _undoes(job)
