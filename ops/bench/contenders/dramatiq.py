"""Plain dramatiq on the same broker: the cost of a queue that keeps no history and has no graph.

The actors are imported when a run begins, because the import connects them to the broker of that run.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import ModuleType

from sluice.ops.bench.environment import BenchEnvironment, Contender, measured, timed
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHAIN, CHILDREN, FANS, FLAT, LAYERS, WARM_UP, WIDTH, hops, whole
from sluice.ops.bench.start_time import started
from sluice.ops.bench.timestamps import Marks
from sluice.ops.bench.workers import PROCESSES, THREADS, CommandProcesses

_ACTORS = "sluice.ops.bench.contenders.dramatiq_actors"
Ask = Callable[[ModuleType], None]


def _flat(actors: ModuleType) -> None:
    for n in range(FLAT):
        actors.flat.send(n)


def _chain(actors: ModuleType) -> None:
    actors.chain.send(0)


def _fan(actors: ModuleType) -> None:
    for fan in range(FANS):
        actors.root.send(fan)


def _layers(actors: ModuleType) -> None:
    actors.layer.send(0)


def _run(
    ground: BenchEnvironment,
    ask: Ask,
    jobs: int,
    *,
    confirmed: bool,
    processes: int = PROCESSES,
    told: Callable[..., Figures] = whole,
) -> Figures:
    with _crew(ground, processes, confirmed=confirmed) as (crew, marks, actors):
        return measured(crew, marks, jobs, lambda: ask(actors), told)


@contextmanager
def _crew(
    ground: BenchEnvironment, processes: int, *, confirmed: bool
) -> Iterator[tuple[CommandProcesses, Marks, ModuleType]]:
    """Start the workers, warm them up, and yield them with the actors as this process imports them."""
    environment = _environment(ground, confirmed=confirmed)
    with (
        ground.crew([_command(processes)], environment) as (crew, marks),
        _actors(environment) as actors,
    ):
        timed(marks, WARM_UP, lambda: [actors.flat.send(FLAT + n) for n in range(WARM_UP)])
        yield crew, marks, actors


def _start(ground: BenchEnvironment, *, confirmed: bool) -> Figures:
    environment = _environment(ground, confirmed=confirmed)
    ground.marks()
    with _actors(environment) as actors:
        actors.flat.send(0)
    return started(ground, _command(processes=1), environment)


@contextmanager
def _actors(environment: Mapping[str, str]) -> Iterator[ModuleType]:
    os.environ.update(environment)
    from sluice.ops.bench.contenders import dramatiq_actors as actors  # noqa: PLC0415 - importing it connects it

    try:
        yield actors
    finally:
        actors.broker.close()


def _command(processes: int) -> list[str]:
    words = ["--processes", str(processes), "--threads", str(THREADS), "--skip-logging"]
    return [sys.executable, "-m", "dramatiq", _ACTORS, *words]


def _environment(ground: BenchEnvironment, *, confirmed: bool) -> Mapping[str, str]:
    return {
        "BENCH_BROKER_URL": ground.broker_url,
        "BENCH_RESULTS_URL": ground.results_url,
        "BENCH_CONFIRMED": "yes" if confirmed else "no",
    }


def _courses(*, confirmed: bool) -> Mapping[str, Callable[[BenchEnvironment], Figures]]:
    run = partial(_run, confirmed=confirmed)
    return {
        "flat": partial(run, ask=_flat, jobs=FLAT),
        "flat-singly": partial(run, ask=_flat, jobs=FLAT),
        "chain": partial(run, ask=_chain, jobs=CHAIN, told=hops),
        "chain-in-one": partial(run, ask=_chain, jobs=CHAIN, processes=1, told=hops),
        "fan": partial(run, ask=_fan, jobs=FANS * (CHILDREN + 2)),
        "layers": partial(run, ask=_layers, jobs=LAYERS * WIDTH),
        "start": partial(_start, confirmed=confirmed),
    }


COURSES = _courses(confirmed=True)
CONFIRMED = Contender("dramatiq, each message confirmed by the broker", COURSES, ["dramatiq"])
UNCONFIRMED = Contender("dramatiq, messages that may be lost", _courses(confirmed=False), ["dramatiq"])
