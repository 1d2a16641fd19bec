"""Celery with its canvas.

Results and barriers are in Redis. Messages use the same broker as Sluice, confirmed and acknowledged late.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import ModuleType

import pika

from sluice.ops.bench.environment import BenchEnvironment, Contender, measured, timed
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHAIN, CHILDREN, FANS, FLAT, LAYERS, WARM_UP, WIDTH, hops, whole
from sluice.ops.bench.timestamps import Marks
from sluice.ops.bench.workers import PROCESSES, THREADS, CommandProcesses

_TASKS = "sluice.ops.bench.contenders.celery_tasks"
_QUEUE = "bench_celery"
Ask = Callable[[ModuleType], None]


def _flat(tasks: ModuleType) -> None:
    for n in range(FLAT):
        tasks.flat.delay(n)


def _chain(tasks: ModuleType) -> None:
    tasks.hop.delay(0)


def _fan(tasks: ModuleType) -> None:
    for number in range(FANS):
        tasks.fan(number).apply_async()


def _layers(tasks: ModuleType) -> None:
    tasks.layers().apply_async()


def _run(
    ground: BenchEnvironment,
    ask: Ask,
    jobs: int,
    *,
    processes: int = PROCESSES,
    told: Callable[..., Figures] = whole,
) -> Figures:
    with _crew(ground, processes) as (crew, marks, tasks):
        return measured(crew, marks, jobs, lambda: ask(tasks), told)


@contextmanager
def _crew(ground: BenchEnvironment, processes: int) -> Iterator[tuple[CommandProcesses, Marks, ModuleType]]:
    """Start the workers, warm them up, and yield them with the tasks as this process imports them.

    The queue is deleted first: tasks that workers of another run had begun when they were stopped are in it again.
    """
    environment = {
        "BENCH_BROKER_URL": ground.broker_url,
        "BENCH_RESULTS_URL": ground.results_url,
        "BENCH_QUEUE": _QUEUE,
    }
    os.environ.update(environment)
    command = [sys.executable, "-m", "celery", "-A", _TASKS, "worker", "--pool", "threads"]
    words = ["--concurrency", str(THREADS), "--loglevel", "WARNING", "--without-gossip", "--without-mingle"]
    commands = [[*command, *words, "--hostname", f"bench{n}@localhost"] for n in range(processes)]
    with pika.BlockingConnection(pika.URLParameters(ground.broker_url)) as connection:
        connection.channel().queue_delete(_QUEUE)
    with ground.crew(commands, environment) as (crew, marks):
        from sluice.ops.bench.contenders import celery_tasks as tasks  # noqa: PLC0415 - importing it connects it

        try:
            timed(marks, WARM_UP, lambda: [tasks.flat.delay(FLAT + n) for n in range(WARM_UP)])
            yield crew, marks, tasks
        finally:
            tasks.app.close()


COURSES: Mapping[str, Callable[[BenchEnvironment], Figures]] = {
    "flat": partial(_run, ask=_flat, jobs=FLAT),
    "flat-singly": partial(_run, ask=_flat, jobs=FLAT),
    "chain": partial(_run, ask=_chain, jobs=CHAIN, told=hops),
    "chain-in-one": partial(_run, ask=_chain, jobs=CHAIN, processes=1, told=hops),
    "fan": partial(_run, ask=_fan, jobs=FANS * (CHILDREN + 2)),
    "layers": partial(_run, ask=_layers, jobs=LAYERS * WIDTH),
}
CELERY = Contender("Celery, with its canvas and Redis for its results", COURSES, ["celery", "redis"])
