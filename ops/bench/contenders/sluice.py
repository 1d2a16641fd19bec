"""Sluice itself: workers as anybody starts them, asked through the client."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial

from msgspec import Struct

from actors.client import Client
from broker.connect import connect
from jobs.errors import SluiceError
from jobs.submission import Submission
from ledger import scratch
from ledger.connection import Ledger
from ops.bench.courses import (
    CHAIN,
    CHILDREN,
    DIAMONDS,
    FANS,
    FLAT,
    LAYERS,
    WARM_UP,
    WIDTH,
    WITHIN_S,
    hops,
    whole,
)
from ops.bench.crew import PROCESSES, THREADS, Crew
from ops.bench.ground import Contender, Ground, timed
from ops.bench.marks import Marks
from ops.bench.sample import Figures

_APPS = "ops.bench.contenders.sluice_apps"
_LOOK_EVERY_S = 0.01


class _Desk(Struct, frozen=True):
    """From where a course is asked for and watched."""

    ledger: Ledger
    client: Client
    crew: Crew
    marks: Marks

    def settled(self) -> float:
        """When the ledger had all of it, by this machine's clock."""
        deadline = time.monotonic() + WITHIN_S
        while self.ledger.transact(scratch.has_work):
            if time.monotonic() > deadline:
                raise SluiceError("Not all jobs have succeeded.", where=self.crew.said())
            time.sleep(_LOOK_EVERY_S)
        return time.monotonic()


@contextmanager
def _desk(ground: Ground, processes: int) -> Iterator[_Desk]:
    command = [
        sys.executable,
        "-m",
        "actors.worker",
        "--processes",
        str(processes),
        "--threads",
        str(THREADS),
    ]
    environment = {
        "SLUICE_LEDGER_URL": ground.ledger_url,
        "SLUICE_BROKER_URL": ground.broker_url,
        "SLUICE_APPS": _APPS,
    }
    with (
        ground.crew([command], environment) as (crew, marks),
        closing(Ledger(ground.ledger_url)) as ledger,
        closing(connect(ground.broker_url)) as broker,
    ):
        desk = _Desk(ledger, Client(ledger, broker.publish), crew, marks)
        keys = tuple(str(FLAT + n) for n in range(WARM_UP))
        timed(marks, WARM_UP, lambda: desk.client.submit(Submission(app="bench_flat", keys=keys, id="warm")))
        desk.settled()
        yield desk


def _run(
    ground: Ground,
    wanted: Sequence[Submission],
    jobs: int,
    *,
    one_by_one: bool = False,
    processes: int = PROCESSES,
    told: Callable[..., Figures] = whole,
) -> Figures:
    with _desk(ground, processes) as desk:
        cpu_s, commits = desk.crew.cpu_s(), desk.ledger.transact(scratch.written)
        given = timed(desk.marks, jobs, partial(_submit, desk.client, wanted, one_by_one=one_by_one))
        settled_at_s = desk.settled()
        return {
            **told(given),
            "settled_per_s": jobs / (settled_at_s - given.asked_at_s),
            "workers_us_a_job": (desk.crew.cpu_s() - cpu_s) / jobs * 1e6,
            "commits_a_job": (desk.ledger.transact(scratch.written) - commits) / jobs,
        }


def _submit(client: Client, wanted: Sequence[Submission], *, one_by_one: bool) -> None:
    for some in [[each] for each in wanted] if one_by_one else [wanted]:
        client.submit_many(some)


def _flat(ground: Ground) -> Figures:
    keys = tuple(str(n) for n in range(FLAT))
    return _run(ground, [Submission(app="bench_flat", keys=keys, id="flat")], FLAT)


def _flat_singly(ground: Ground) -> Figures:
    wanted = [Submission(app="bench_flat", key=str(n), id=f"flat{n}") for n in range(FLAT)]
    return _run(ground, wanted, FLAT, one_by_one=True)


def _chain(ground: Ground, processes: int) -> Figures:
    wanted = [Submission(app="bench_chain", key=str(CHAIN - 1), id="chain", push="wanted")]
    return _run(ground, wanted, CHAIN, processes=processes, told=hops)


def _fan(ground: Ground) -> Figures:
    keys = tuple(str(fan) for fan in range(FANS))
    return _run(
        ground, [Submission(app="bench_sum", keys=keys, id="fan", push="wanted")], FANS * (CHILDREN + 2)
    )


def _layers(ground: Ground) -> Figures:
    keys = tuple(f"{LAYERS - 1}_{n}" for n in range(WIDTH))
    return _run(
        ground, [Submission(app="bench_layers", keys=keys, id="layers", push="wanted")], LAYERS * WIDTH
    )


def _diamonds(ground: Ground) -> Figures:
    keys = tuple(str(n) for n in range(DIAMONDS))
    return _run(
        ground, [Submission(app="bench_bottom", keys=keys, id="diamonds", push="wanted")], 4 * DIAMONDS
    )


COURSES: Mapping[str, Callable[[Ground], Figures]] = {
    "flat": _flat,
    "flat-singly": _flat_singly,
    "chain": partial(_chain, processes=PROCESSES),
    "chain-in-one": partial(_chain, processes=1),
    "fan": _fan,
    "layers": _layers,
    "diamonds": _diamonds,
}
SLUICE = Contender("Sluice, as its workers are started by default", COURSES)
