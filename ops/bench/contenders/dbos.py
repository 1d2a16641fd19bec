"""DBOS: workflows with steps that are recorded in Postgres.

DBOS polls for enqueued workflows. Here it polls 50 times as often as by default. That improves its times and costs
it part of a core.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import Struct
from sqlalchemy import Engine, create_engine, make_url

from sluice.ops.bench.environment import BenchEnvironment, Contender, at_desks, begun, timed
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHAIN, CHILDREN, FANS, FLAT, LAYERS, WARM_UP, WIDTH, bulks, hops
from sluice.ops.bench.timestamps import Marks
from sluice.ops.bench.workers import CommandProcesses

_WORKFLOWS = "sluice.ops.bench.contenders.dbos_workflows"
APPLICATION = "bench"
QUEUE = "bench"
#: Seconds between two polls of the queues, and of a workflow that is waited for. The default of DBOS is 1 s.
POLL_EVERY_S = 0.02


class _Submitter(Struct, frozen=True):
    """Connections of the process that starts a benchmark."""

    crew: CommandProcesses
    marks: Marks
    engine: Engine
    client: Any

    def enqueue(self, workflow: str, *arguments: int) -> None:
        self.client.enqueue(_called(workflow), *arguments)

    def enqueue_at_once(self, workflow: str, numbers: Iterable[int]) -> None:
        """Enqueue these workflows in one transaction. DBOS has no call for several workflows."""
        with self.engine.begin() as transaction:
            for n in numbers:
                self.client.enqueue_in_transaction(transaction, _called(workflow), n)


def _called(workflow: str) -> Mapping[str, str]:
    return {"workflow_name": workflow, "queue_name": QUEUE}


def _flat(submitter: _Submitter) -> None:
    for some in bulks(FLAT):
        submitter.enqueue_at_once("flat", some)


def _flat_singly(submitter: _Submitter) -> None:
    for n in range(FLAT):
        submitter.enqueue("flat", n)


def _chain(submitter: _Submitter) -> None:
    submitter.enqueue("chain")


def _fan(submitter: _Submitter) -> None:
    submitter.enqueue_at_once("fan", range(FANS))


def _layers(submitter: _Submitter) -> None:
    submitter.enqueue("layers")


@contextmanager
def _submitter(ground: BenchEnvironment, processes: int) -> Iterator[_Submitter]:
    """Create the tables and the queue, start the workers and warm them up."""
    from dbos import DBOSClient, run_dbos_database_migrations  # noqa: PLC0415 - it need not be installed

    run_dbos_database_migrations(ground.ledger_url)
    engine = create_engine(make_url(ground.ledger_url).set(drivername="postgresql+psycopg"))
    client = DBOSClient(system_database_engine=engine, application_name=APPLICATION)
    commands = [[sys.executable, "-m", _WORKFLOWS, f"bench{n}"] for n in range(processes)]
    try:
        client.register_queue(QUEUE, polling_interval_sec=POLL_EVERY_S)
        with ground.crew(commands, {"BENCH_LEDGER_URL": ground.ledger_url}) as (crew, marks):
            submitter = _Submitter(crew, marks, engine, client)
            begun(crew, marks, processes)
            timed(marks, WARM_UP, lambda: submitter.enqueue_at_once("flat", range(FLAT, FLAT + WARM_UP)))
            yield submitter
    finally:
        client.destroy()
        engine.dispose()


_run = at_desks(_submitter)
COURSES: Mapping[str, Callable[[BenchEnvironment], Figures]] = {
    "flat": partial(_run, ask=_flat, jobs=FLAT),
    "flat-singly": partial(_run, ask=_flat_singly, jobs=FLAT),
    "chain-in-one": partial(_run, ask=_chain, jobs=CHAIN, processes=1, told=hops),
    "fan": partial(_run, ask=_fan, jobs=FANS * (CHILDREN + 2)),
    "layers": partial(_run, ask=_layers, jobs=LAYERS * WIDTH),
}
DBOS = Contender(
    f"DBOS, polling its queue every {POLL_EVERY_S} s instead of every second, and with layers for edges",
    COURSES,
    ["dbos"],
)
