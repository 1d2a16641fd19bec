"""What a run of a course has for itself: servers, a folder, and the file of marks."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

from sluice.jobs.errors import SluiceError
from sluice.ops.bench.courses import WITHIN_S, Given, whole
from sluice.ops.bench.crew import PROCESSES, Crew, crew
from sluice.ops.bench.marks import VARIABLE, Marks
from sluice.ops.bench.sample import Figures

_BEGIN_WITHIN_S = 60.0


class Ground(Struct, frozen=True):
    """The ledger is empty, and a database like any other to those that keep their own things in Postgres.
    ``results_url`` is a Redis for those that keep results, or the state of groups, in one."""

    ledger_url: str
    broker_url: str
    results_url: str
    folder: Path

    def marks(self) -> Marks:
        """For all that leaves marks, what this process itself imports from now on too."""
        marks = Marks(self.folder / "marks")
        os.environ[VARIABLE] = str(marks.path)
        return marks

    @contextmanager
    def crew(
        self, commands: Sequence[Sequence[str]], environment: Mapping[str, str]
    ) -> Iterator[tuple[Crew, Marks]]:
        """Workers that leave marks."""
        marks = self.marks()
        with crew(commands, self.folder, {VARIABLE: str(marks.path), **environment}) as workers:
            yield workers, marks


#: One run of a course by one contender.
Course: TypeAlias = Callable[[Ground], Figures]


class Contender(Struct, frozen=True):
    """``courses`` has those that it can run at all; ``modules`` are what must be installed for it."""

    what: str
    courses: Mapping[str, Course]
    modules: Sequence[str] = ()


def measured(
    crew: Crew, marks: Marks, count: int, ask: Callable[[], object], told: Callable[[Given], Figures] = whole
) -> Figures:
    """What is told of a course that is over when its last job has begun, and what that has cost the workers."""
    cpu_s = crew.cpu_s()
    figures = told(timed(marks, count, ask))
    return {**figures, "workers_us_a_job": (crew.cpu_s() - cpu_s) / count * 1e6}


class Desk(Protocol):
    """From where a course is asked for."""

    @property
    def crew(self) -> Crew: ...
    @property
    def marks(self) -> Marks: ...


D = TypeVar("D", bound=Desk)


def at_desks(desk_of: Callable[[Ground, int], AbstractContextManager[D]]) -> Callable[..., Figures]:
    """What runs courses, each at a desk of its own for so many processes."""

    def run(
        ground: Ground,
        ask: Callable[[D], None],
        jobs: int,
        *,
        processes: int = PROCESSES,
        told: Callable[[Given], Figures] = whole,
    ) -> Figures:
        with desk_of(ground, processes) as desk:
            return measured(desk.crew, desk.marks, jobs, lambda: ask(desk), told)

    return run


def begun(crew: Crew, marks: Marks, processes: int) -> None:
    """Wait until so many processes have left a mark with their own number, as those do that are fast enough for one to
    run all that should warm both."""
    try:
        marks.wait_for(processes, within_s=_BEGIN_WITHIN_S)
    except SluiceError as error:
        raise SluiceError("Not all workers have begun.", where=crew.said()) from error


def timed(marks: Marks, count: int, ask: Callable[[], object]) -> Given:
    """Ask, and wait until so many jobs have begun."""
    marks.forget()
    asked_at_s = time.monotonic()
    ask()
    accepted_at_s = time.monotonic()
    return Given(asked_at_s, accepted_at_s, marks.wait_for(count, within_s=WITHIN_S))
