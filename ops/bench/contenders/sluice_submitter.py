"""Sluice's workers, started with their normal command, and the client that submits benchmarks to them and watches
them.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from sluice.actors.client import Client
from sluice.actors.worker.publish_buffer import PublishBuffer
from sluice.broker.connect import connect
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger
from sluice.ops.bench.environment import BenchEnvironment, timed
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import BLOCKED, CHAIN, FLAT, WARM_UP, WITHIN_S, RunTimes, hops, whole
from sluice.ops.bench.timestamps import Marks
from sluice.ops.bench.workers import PROCESSES, THREADS, CommandProcesses

APPS = "sluice.ops.bench.contenders.sluice_apps"
#: Function that computes the figures of a run.
Told: TypeAlias = Callable[[RunTimes], Figures]
_FLAT = "bench_flat"
_LOOK_EVERY_S = 0.01


class SubmitterConnections(Struct, frozen=True):
    """Connections of the process that submits the jobs of a benchmark and watches them."""

    ledger: Ledger
    client: Client
    crew: CommandProcesses
    marks: Marks

    def warm_up(self, app: str = _FLAT) -> None:
        keys = tuple(str(FLAT + n) for n in range(WARM_UP))
        timed(
            self.marks,
            WARM_UP,
            lambda: self.client.submit(Submission(app=app, keys=keys, id=f"warm {app}")),
        )
        self.settled()

    def run(
        self,
        wanted: Sequence[Submission],
        jobs: int,
        *,
        one_by_one: bool = False,
        told: Told = whole,
    ) -> Figures:
        """Run these submissions. Return the figures of ``told``, and the costs until all results were recorded."""
        cpu_s, commits = self.crew.cpu_s(), self.ledger.transact(fixtures.written)
        given = timed(self.marks, jobs, partial(self._submit, wanted, one_by_one=one_by_one))
        settled_at_s = self.settled()
        return {
            **told(given),
            "settled_per_s": jobs / (settled_at_s - given.asked_at_s),
            "workers_us_a_job": (self.crew.cpu_s() - cpu_s) / jobs * 1e6,
            "commits_a_job": (self.ledger.transact(fixtures.written) - commits) / jobs,
        }

    def flat(self, first: int = 0, *, app: str = _FLAT, told: Told = whole) -> Figures:
        """Run ``flat`` with jobs that are numbered from ``first`` on."""
        keys = tuple(str(n) for n in range(first, first + FLAT))
        return self.run([Submission(app=app, keys=keys, id=f"{app} {first}")], FLAT, told=told)

    def chain(self) -> Figures:
        wanted = [Submission(app="bench_chain", key=str(CHAIN - 1), id="chain")]
        return self.run(wanted, CHAIN, told=hops)

    def settled(self) -> float:
        """Wait until all submissions have ended, except the submission of ``BLOCKED``. Return the time by this
        machine's clock.
        """
        deadline = time.monotonic() + WITHIN_S
        while self.ledger.transact(lambda tx: fixtures.has_work(tx, except_app=BLOCKED)):
            if time.monotonic() > deadline:
                raise SluiceError("Not all jobs have succeeded.", where=self.crew.said())
            time.sleep(_LOOK_EVERY_S)
        return time.monotonic()

    def until_planned(self, submission: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while (status := self.client.status(submission)) and status.state is SubmissionState.RECEIVED:
            if time.monotonic() > deadline:
                raise SluiceError(f"{submission} has not been planned.", where=self.crew.said())
            time.sleep(_LOOK_EVERY_S)

    def _submit(self, wanted: Sequence[Submission], *, one_by_one: bool) -> None:
        for some in [[each] for each in wanted] if one_by_one else [wanted]:
            self.client.submit_many(some)


@contextmanager
def submitter_of(ground: BenchEnvironment, processes: int = PROCESSES) -> Iterator[SubmitterConnections]:
    """Start workers, warm them up, and yield access to them."""
    with (
        ground.crew([command(processes)], environment(ground)) as (crew, marks),
        closing(Ledger(ground.ledger_url)) as ledger,
        closing(connect(ground.broker_url)) as broker,
        closing(PublishBuffer(broker.publish)) as publish_buffer,
    ):
        submitter = SubmitterConnections(ledger, Client(ledger, publish_buffer.publish), crew, marks)
        submitter.warm_up()
        yield submitter


def command(processes: int) -> list[str]:
    words = ["--processes", str(processes), "--threads", str(THREADS)]
    return [sys.executable, "-m", "sluice.actors.worker", *words]


def environment(ground: BenchEnvironment) -> Mapping[str, str]:
    return {
        "SLUICE_LEDGER_URL": ground.ledger_url,
        "SLUICE_BROKER_URL": ground.broker_url,
        "SLUICE_APPS": APPS,
    }
