"""Apps of a run: each way of keying jobs, and each shape of dependencies.

    crown ─► left, right ─► foot      a diamond
    link0 ─► … ─► link4               a chain
    root ─► 60 leaves ─► crop         a fan that opens and closes
    extract ─► report                 by chunks
    collect ─► cleanse                by partitions, acknowledged one by one
    voyage                            a saga, which sometimes fails and undoes its steps
    nap                               sleeps, so that a killed worker is mostly in the middle of one
    stamp                             writes into the ledger's database, together with its success
    narrow                            at most two at once
    brittle                           fails often, and has a breaker and a retry budget
    cell                              in a process of its own
    beat                              by schedule, each second

Commands and programs are in ``program``.

The fate of a job is drawn from its name, so that it is the same in every process and at every try.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sluice import Fatal, Retry, Step, app, retry, saga, schedule
from sluice.jobs.model.job import Job
from sluice.jobs.sagas.flight import Flight
from tests.chaos import stamps
from tests.chaos.effects import note

LEAVES = 60
#: Seconds of the longest nap: longer than two leases, so that a run can overlap the next if its worker does not end it.
NAP_S_MAX = 8.0
NAP_LINE_S = 0.1
#: Jobs of ``narrow`` that run at once, the seconds that each takes, and the share of runs of ``brittle`` that fail.
ROOM, NARROW_S, BRITTLE = 2, 0.1, 0.4
#: High limits, so that the lost leases and failures that the chaos itself causes do not make a job fail.
_WORDS = {"max_losses": 1_000_000, "max_fails": 2}
_TEMPLATE = {"job_id": "{n}", "identifiers": {"n": "int"}, **_WORDS}
#: Share of jobs that fail in their first round, and share of jobs that always fail.
_STUMBLING, _HOPELESS = 0.05, 0.01


@contextmanager
def told(job: Job) -> Iterator[None]:
    """Write the first and the last line of a run, or fail if that is drawn from the job's name."""
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
        for partition in job.partitions:
            job.done(partition)


@app(output_table="clean", step_size=7, table_dependencies=[{"table": "raw", "start_offset": 2}], **_WORDS)
def cleanse(job: Job) -> None:
    with told(job):
        for partition in job.partitions:
            job.done(partition)


@app(**_TEMPLATE)
def nap(job: Job) -> None:
    """Write a line again and again until the job is stopped, so that overlapping runs are noticed."""
    with told(job):
        until = time.monotonic() + NAP_S_MAX * _chance(job.app, job.key, "length")
        while time.monotonic() < until:
            if job.cancelled:
                raise InterruptedError("the job must stop before its end")
            time.sleep(NAP_LINE_S)
            note("work", app=job.app, key=job.key, claim=job.claim)


@app(**_TEMPLATE)
def stamp(job: Job) -> None:
    """Write a row in the transaction of the success.

    The last line comes before the commit. A job that is killed between the two has written it, and has not succeeded.
    """
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
    """Step that writes lines when it begins, ends and is undone.

    It sometimes answers with a retry, and in some flights it fails.
    """

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
