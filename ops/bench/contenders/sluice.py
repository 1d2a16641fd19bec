"""Sluice itself: the benchmarks, submitted through the client."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sluice.jobs.model.submission import Submission
from sluice.ops.bench.contenders import sluice_alone
from sluice.ops.bench.contenders.sluice_submitter import submitter_of
from sluice.ops.bench.environment import BenchEnvironment, Contender
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHILDREN, DIAMONDS, FANS, FLAT, LAYERS, WIDTH
from sluice.ops.bench.workers import PROCESSES


def _run(
    ground: BenchEnvironment, wanted: Sequence[Submission], jobs: int, *, one_by_one: bool = False
) -> Figures:
    with submitter_of(ground) as submitter:
        return submitter.run(wanted, jobs, one_by_one=one_by_one)


def _flat(ground: BenchEnvironment) -> Figures:
    with submitter_of(ground) as submitter:
        return submitter.flat()


def _flat_singly(ground: BenchEnvironment) -> Figures:
    wanted = [Submission(app="bench_flat", key=str(n), id=f"flat{n}") for n in range(FLAT)]
    return _run(ground, wanted, FLAT, one_by_one=True)


def _chain(ground: BenchEnvironment, processes: int) -> Figures:
    with submitter_of(ground, processes) as submitter:
        return submitter.chain()


def _fan(ground: BenchEnvironment) -> Figures:
    keys = tuple(str(fan) for fan in range(FANS))
    return _run(ground, [Submission(app="bench_sum", keys=keys, id="fan")], FANS * (CHILDREN + 2))


def _layers(ground: BenchEnvironment) -> Figures:
    keys = tuple(f"{LAYERS - 1}_{n}" for n in range(WIDTH))
    return _run(ground, [Submission(app="bench_layers", keys=keys, id="layers")], LAYERS * WIDTH)


def _diamonds(ground: BenchEnvironment) -> Figures:
    keys = tuple(str(n) for n in range(DIAMONDS))
    return _run(ground, [Submission(app="bench_bottom", keys=keys, id="diamonds")], 4 * DIAMONDS)


COURSES: Mapping[str, Callable[[BenchEnvironment], Figures]] = {
    "flat": _flat,
    "flat-singly": _flat_singly,
    "chain": partial(_chain, processes=PROCESSES),
    "chain-in-one": partial(_chain, processes=1),
    "fan": _fan,
    "layers": _layers,
    "diamonds": _diamonds,
    **sluice_alone.COURSES,
}
SLUICE = Contender("Sluice, as its workers are started by default", COURSES)
