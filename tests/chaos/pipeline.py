"""The apps that are run: each way of keying jobs, and each shape of what they need.

    crown ─► left, right ─► foot      a diamond
    link0 ─► … ─► link4               a chain
    root ─► 60 leaves ─► crop         a fan that opens and closes
    extract ─► report                 by chunks
    collect ─► cleanse                by partitions, told one by one
    voyage                            a saga, which fails now and then and takes back what it did
    nap                               sleeps, so that whoever is killed is mostly in the middle of one
    stamp                             writes into the ledger's database, together with its success
    narrow                            two at once, and no more
    brittle                           fails often, and has a breaker and a retry budget
    cell                              in a process of its own
    beat                              by schedule, each second

Commands and programs are in ``program``.

What becomes of a job is drawn from its name, so that it is the same wherever and however often it is tried.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sluice import Fatal, Retry, Step, app, retry, saga, schedule
from sluice.jobs.job import Job
from sluice.jobs.sagas.flight import Flight
from tests.chaos import stamps
from tests.chaos.effects import note

LEAVES = 60
#: Longer than two leases, so that a run can overlap with the next one if its worker does not end it.
NAP_S_MAX = 8.0
NAP_LINE_S = 0.1
#: So many of one app run at once, each for so long; and so often another fails.
ROOM, NARROW_S, BRITTLE = 2, 0.1, 0.4
#: Nobody loses so many leases, or fails so often, that it is the chaos itself which makes a job fail.
_WORDS = {"max_losses": 1_000_000, "max_fails": 2}
_TEMPLATE = {"job_id": "{n}", "identifiers": {"n": "int"}, **_WORDS}
#: So many fail in their first round, and so many whenever they are tried.
_STUMBLING, _HOPELESS = 0.05, 0.01


@contextmanager
def told(job: Job) -> Iterator[None]:
    """The lines of one run; or the failure that its name has in store."""
    note("start", app=job.app, key=job.key, claim=job.claim)
    chance = _chance(job.app, job.key)
    if chance < _HOPELESS or (chance < _STUMBLING and job.round == 0):
        raise RuntimeError("it is in the name of this job that it fails")
    yield
    note("end", app=job.app, key=job.key, claim=job.claim)


def _chance(*words: str) -> float:
    return random.Random("/".join(words)).random()


def _ends(job: Job) -> None:
    with told(job):
        pass


@app(**_TEMPLATE)
def crown(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["crown"]}, **_TEMPLATE)
def left(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["crown"]}, **_TEMPLATE)
def right(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["left", "right"]}, **_TEMPLATE)
def foot(job: Job) -> None:
    _ends(job)


@app(**_TEMPLATE)
def link0(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["link0"]}, **_TEMPLATE)
def link1(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["link1"]}, **_TEMPLATE)
def link2(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["link2"]}, **_TEMPLATE)
def link3(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["link3"]}, **_TEMPLATE)
def link4(job: Job) -> None:
    _ends(job)


@app(**_TEMPLATE)
def root(job: Job) -> None:
    _ends(job)


@app(
    job_id="{n}_{leaf}",
    identifiers={"n": "int", "leaf": "int"},
    autofill_values={"leaf": f"0:{LEAVES}"},
    depends_on={"app_name": ["root"]},
    max_fails=2,
    max_losses=1_000_000,
)
def leaf(job: Job) -> None:
    _ends(job)


@app(depends_on={"app_name": ["leaf"], "leaf": "all"}, **_TEMPLATE)
def crop(job: Job) -> None:
    _ends(job)


@app(chunk_size=5, **_WORDS)
def extract(job: Job) -> None:
    _ends(job)


@app(chunk_size=3, dependencies=[{"job_type": "extract", "max_lag": 60}], **_WORDS)
def report(job: Job) -> None:
    _ends(job)


@app(output_table="raw", step_size=10, **_WORDS)
def collect(job: Job) -> None:
    with told(job):
        for partition in job.partitions or ():
            job.done(partition)


@app(output_table="clean", step_size=7, table_dependencies=[{"table": "raw", "start_offset": 2}], **_WORDS)
def cleanse(job: Job) -> None:
    with told(job):
        for partition in job.partitions or ():
            job.done(partition)


@app(**_TEMPLATE)
def nap(job: Job) -> None:
    """It writes again and again that it is at work, until it is told to end, so that two runs that overlap are seen."""
    with told(job):
        until = time.monotonic() + NAP_S_MAX * _chance(job.app, job.key, "length")
        while time.monotonic() < until:
            if job.cancelled:
                raise InterruptedError("it is told to end")
            time.sleep(NAP_LINE_S)
            note("work", app=job.app, key=job.key, claim=job.claim)


@app(**_TEMPLATE)
def stamp(job: Job) -> None:
    """Its last line comes before the commit: who is killed between the two has done it, and has not succeeded."""
    with job.transaction() as connection, told(job):
        connection.execute(stamps.WRITE, {"app": job.app, "key": job.key, "claim": job.claim})


@app(concurrency=ROOM, **_TEMPLATE)
def narrow(job: Job) -> None:
    with told(job):
        time.sleep(NARROW_S)


@app(
    breaker={"fails": 4, "pause": "1s", "pause_max": "2s"},
    retry={"rule": "fixed", "seconds": 0.1},
    retry_budget={"retries": 10, "per": "1s"},
    **{**_TEMPLATE, "max_fails": 4},
)
def brittle(job: Job) -> None:
    with told(job):
        if random.random() < BRITTLE:
            raise RuntimeError("it breaks")


@app(isolate=True, **_TEMPLATE)
def cell(job: Job) -> None:
    _ends(job)


@app(job_id="{moment}", **_WORDS)
def beat(job: Job) -> None:
    _ends(job)


class _Leg(Step):
    """A step that is told of when it begins and ends, and when it is taken back; now and then it wants to be tried
    again, and in some flights it is where the flight fails."""

    retry = retry.fixed(seconds=0.05, times=50)
    failing = 0.0

    def do(self, flight: Flight) -> Fatal | Retry | None:
        self._note("start", flight)
        if random.random() < 0.1:
            return Retry("the line is busy")
        if _chance(flight.key, flight.step_name) < self.failing:
            return Fatal("it is in the name of this flight that it fails here")
        self._note("end", flight)
        return None

    def undo(self, flight: Flight) -> Retry | None:
        if random.random() < 0.1:
            return Retry("the line is busy")
        self._note("undo", flight)
        return None

    def _note(self, event: str, flight: Flight) -> None:
        note(event, app=flight.app, key=flight.key, claim=flight.claim, step=flight.step_name)  # type: ignore[arg-type] # one of the three


class Book(_Leg): ...


class Pay(_Leg):
    failing = 0.1


class Board(_Leg):
    failing = 0.3


@saga(job_id="{n}", identifiers={"n": "int"})
def voyage(flight: Flight) -> list[Step]:
    return [Book(), Pay(), Board()]


beats = schedule(id="beats", app=beat, every="1s", key="{due:%Y%m%dT%H%M%S}", catch_up="all")
