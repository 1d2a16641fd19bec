"""Procrastinate: a queue in Postgres that keeps its jobs, as Sluice does.

It has no dependencies between jobs, so it does not run ``fan`` and ``layers``.

A worker gets notifications of new jobs, and polls for jobs that it missed. It loses notifications that arrive while
it polls, so a job deferred at that moment waits for the next poll. By default that is 5 s later; here it is
``POLL_EVERY_S``.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from sluice.ops.bench.environment import BenchEnvironment, Contender, begun, measured, timed
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHAIN, FLAT, WARM_UP, bulks, hops, whole
from sluice.ops.bench.timestamps import Marks
from sluice.ops.bench.workers import PROCESSES, THREADS, CommandProcesses

_APP = "sluice.ops.bench.contenders.procrastinate_tasks.app"
#: Seconds that an idle worker waits for a notification before it polls.
POLL_EVERY_S = 0.1
#: Returns the deferrer of a task by the name of the task. The process that enqueues does not load the tasks.
Deferrers = Callable[[str], Any]


def _flat(task: Deferrers) -> None:
    flat = task("flat")
    for some in bulks(FLAT):
        flat.batch_defer(*({"n": n} for n in some))


def _flat_singly(task: Deferrers) -> None:
    flat = task("flat")
    for n in range(FLAT):
        flat.defer(n=n)


def _chain(task: Deferrers) -> None:
    task("hop").defer(n=0)


def _run(
    ground: BenchEnvironment,
    ask: Callable[[Deferrers], None],
    jobs: int,
    *,
    processes: int = PROCESSES,
    told: Callable[..., Figures] = whole,
) -> Figures:
    with _crew(ground, processes) as (crew, marks, task):
        return measured(crew, marks, jobs, lambda: ask(task), told)


@contextmanager
def _crew(ground: BenchEnvironment, processes: int) -> Iterator[tuple[CommandProcesses, Marks, Deferrers]]:
    """Create the tables, start the workers and warm them up."""
    from procrastinate import App, SyncPsycopgConnector  # noqa: PLC0415 - it need not be installed

    command = [sys.executable, "-m", "procrastinate", "--log-level", "warning", "--app", _APP, "worker"]
    words = ["--concurrency", str(THREADS), "--delete-jobs", "never"]
    words += ["--fetch-job-polling-interval", str(POLL_EVERY_S)]
    with App(connector=SyncPsycopgConnector(conninfo=ground.ledger_url)).open() as app:
        app.schema_manager.apply_schema()
        task = partial(app.configure_task, allow_unknown=True)
        environment = {"BENCH_LEDGER_URL": ground.ledger_url}
        with ground.crew([[*command, *words]] * processes, environment) as (crew, marks):
            begun(crew, marks, processes)
            numbers = range(FLAT, FLAT + WARM_UP)
            timed(marks, WARM_UP, lambda: task("flat").batch_defer(*({"n": n} for n in numbers)))
            yield crew, marks, task


COURSES: Mapping[str, Callable[[BenchEnvironment], Figures]] = {
    "flat": partial(_run, ask=_flat, jobs=FLAT),
    "flat-singly": partial(_run, ask=_flat_singly, jobs=FLAT),
    "chain": partial(_run, ask=_chain, jobs=CHAIN, told=hops),
    "chain-in-one": partial(_run, ask=_chain, jobs=CHAIN, processes=1, told=hops),
}
PROCRASTINATE = Contender(
    f"Procrastinate, keeping its jobs, and polling every {POLL_EVERY_S} s instead of every 5 s",
    COURSES,
    ["procrastinate"],
)
