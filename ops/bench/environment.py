"""Resources of one run of a benchmark: servers, a folder, and the file of marks."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

from sluice.jobs.errors import SluiceError
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import WITHIN_S, RunTimes, whole
from sluice.ops.bench.timestamps import VARIABLE, Marks
from sluice.ops.bench.workers import PROCESSES, CommandProcesses, crew

_BEGIN_WITHIN_S = 60.0


class BenchEnvironment(Struct, frozen=True):
    """Servers and folder of one run.

    The ledger is empty. Contenders that keep their data in Postgres use it as an ordinary database. ``results_url``
    is a Redis, for contenders that keep results or the state of groups there.
    """

    ledger_url: str
    broker_url: str
    results_url: str
    folder: Path

    def marks(self) -> Marks:
        """Create the file of marks. Its path is put into this process's environment, for modules that are imported
        from now on.
        """
        marks = Marks(self.folder / "marks")
        os.environ[VARIABLE] = str(marks.path)
        return marks

    @contextmanager
    def crew(
        self, commands: Sequence[Sequence[str]], environment: Mapping[str, str]
    ) -> Iterator[tuple[CommandProcesses, Marks]]:
        """Start workers that leave marks."""
        marks = self.marks()
        with crew(commands, self.folder, {VARIABLE: str(marks.path), **environment}) as workers:
            yield workers, marks


#: One run of a course by one contender.
Course: TypeAlias = Callable[[BenchEnvironment], Figures]


class Contender(Struct, frozen=True):
    """System to measure. ``courses`` are the benchmarks that it can run; ``modules`` must be installed for it."""

    what: str
    courses: Mapping[str, Course]
    modules: Sequence[str] = ()


def measured(
    crew: CommandProcesses,
    marks: Marks,
    count: int,
    ask: Callable[[], object],
    told: Callable[[RunTimes], Figures] = whole,
) -> Figures:
    """Run a benchmark until its last job has begun. Return its figures, and the workers' CPU time per job."""
    cpu_s = crew.cpu_s()
    figures = told(timed(marks, count, ask))
    return {**figures, "workers_us_a_job": (crew.cpu_s() - cpu_s) / count * 1e6}


class BenchConnections(Protocol):
    """Connections of the process that starts a benchmark."""

    @property
    def crew(self) -> CommandProcesses: ...
    @property
    def marks(self) -> Marks: ...


D = TypeVar("D", bound=BenchConnections)


def at_desks(
    submitter_of: Callable[[BenchEnvironment, int], AbstractContextManager[D]],
) -> Callable[..., Figures]:
    """Return a function that runs benchmarks, each with a new ``BenchConnections`` for the given number of
    processes."""

    def run(
        ground: BenchEnvironment,
        ask: Callable[[D], None],
        jobs: int,
        *,
        processes: int = PROCESSES,
        told: Callable[[RunTimes], Figures] = whole,
    ) -> Figures:
        with submitter_of(ground, processes) as submitter:
            return measured(submitter.crew, submitter.marks, jobs, lambda: ask(submitter), told)

    return run


def begun(crew: CommandProcesses, marks: Marks, processes: int) -> None:
    """Wait until this number of processes has left a mark with its own process ID.

    Fast contenders need this. Otherwise a single process could run all warm-up jobs, and the other process none.
    """
    try:
        marks.wait_for(processes, within_s=_BEGIN_WITHIN_S)
    except SluiceError as error:
        raise SluiceError("Not all workers have begun.", where=crew.said()) from error


def timed(marks: Marks, count: int, ask: Callable[[], object]) -> RunTimes:
    """Request the jobs, and wait until ``count`` jobs have begun."""
    marks.forget()
    asked_at_s = time.monotonic()
    ask()
    accepted_at_s = time.monotonic()
    return RunTimes(asked_at_s, accepted_at_s, marks.wait_for(count, within_s=WITHIN_S))
