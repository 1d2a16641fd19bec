"""History of a run: the rows of the ledger afterwards, and the lines that the run left outside it.

Times of effects are of the machine's monotonic clock. They are compared with each other exactly, over all processes,
and with times of the ledger within a tolerance.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from sluice.ledger.database.connection import Ledger
from tests.chaos.acts import Kind
from tests.chaos.rows import Job, Round, Rows, Submission, Transition, read_rows

T = TypeVar("T")

#: Drift between the monotonic clock and the database's clock since a run began: at most a jump of ``SKEW_S`` seconds
#: when the clock is set at first, and then ``SKEW_PER_S`` seconds per second by slewing.
SKEW_S = 0.2
SKEW_PER_S = 0.0005


class Run(Struct, frozen=True):
    """Parameters of a run. ``monotonic_to_epoch_s`` plus a monotonic time is the database's time, as of the start."""

    seed: int
    seconds: float
    broker: str
    ledger: str
    monotonic_to_epoch_s: float


class Effect(Struct, frozen=True):
    """Line that a job wrote: it starts, works, ends, or is undone. ``step`` is set for steps of sagas."""

    event: Literal["start", "work", "end", "undo"]
    app: str
    key: str
    job: int
    claim: int
    pid: int
    at: float
    step: str | None = None

    @property
    def name(self) -> str:
        return f"{self.app}/{self.key}"


class Stopped(Struct, frozen=True):
    """Interval from ``at`` in which a worker was stopped by SIGSTOP and could not end its runs."""

    at: float
    for_s: float


class Accepted(Struct, frozen=True):
    """Submission that was confirmed to a client as accepted."""

    id: str
    app: str
    by: Literal["ledger", "message", "http"]


class History:
    """A finished run, with its rows and effects indexed for the rules."""

    def __init__(
        self, run: Run, rows: Rows, effects: list[Effect], accepted: list[Accepted], stopped: list[Stopped]
    ) -> None:
        self.run = run
        self.stopped = stopped
        self.rows = rows
        self.effects = sorted(effects, key=lambda effect: effect.at)
        self.accepted = accepted

    @cached_property
    def jobs(self) -> dict[int, Job]:
        return {job.id: job for job in self.rows.jobs}

    @cached_property
    def steps_of(self) -> dict[int, list[Transition]]:
        """The transitions of each job, in order."""
        return _grouped(self.rows.transitions, lambda step: step.job)

    @cached_property
    def rounds_of(self) -> dict[int, list[Round]]:
        """The rounds of each job, in the order of their claims."""
        return _grouped(self.rows.rounds, lambda each: each.job)

    @cached_property
    def rounds(self) -> dict[tuple[int, int], Round]:
        return {(each.job, each.claim): each for each in self.rows.rounds}

    @cached_property
    def effects_of(self) -> dict[int, list[Effect]]:
        """The effects of each job, in the order of their times."""
        return _grouped(self.effects, lambda effect: effect.job)

    @cached_property
    def leaves_effects(self) -> set[str]:
        """The apps that write effects."""
        return {effect.app for effect in self.effects}

    @cached_property
    def flown(self) -> set[int]:
        """The jobs that are sagas: they have a journal, or an effect that belongs to a step."""
        by_journal = {entry.job for entry in self.rows.steps}
        return by_journal | {effect.job for effect in self.effects if effect.step is not None}

    @cached_property
    def submissions(self) -> dict[int, Submission]:
        return {each.number: each for each in self.rows.submissions}

    def name(self, job: int) -> str:
        return self.jobs[job].name if job in self.jobs else f"job {job}"

    def epoch_s(self, effect: Effect) -> float:
        return effect.at + self.run.monotonic_to_epoch_s

    @cached_property
    def tolerance_s(self) -> float:
        """Largest difference of the two clocks at the end of the run, in seconds."""
        lasted_s = self.effects[-1].at - self.effects[0].at if self.effects else 0.0
        return SKEW_S + SKEW_PER_S * lasted_s


def read(folder: Path, ledger_url: str) -> History:
    """Read the record of a run, and the ledger in its present state."""
    ledger = Ledger(ledger_url, connections=1)
    try:
        rows = ledger.transact(read_rows)
    finally:
        ledger.close()
    run = msgspec.json.decode((folder / "run.json").read_bytes(), type=Run)
    effects = [effect for file in sorted((folder / "effects").iterdir()) for effect in _lines(file, Effect)]
    stopped = [
        Stopped(line["at"], line["for_s"])
        for line in _lines(folder / "nemesis.jsonl", dict[str, Any])
        if line["act"] == Kind.STOP.name
    ]
    return History(run, rows, effects, [*_lines(folder / "submitted.jsonl", Accepted)], stopped)


def _lines(file: Path, kind: type[T]) -> Iterator[T]:
    """Yield the complete lines of a file. A process that was killed within its last line has not written that line."""
    if file.exists():
        for line in file.read_bytes().split(b"\n")[:-1]:
            yield msgspec.json.decode(line, type=kind)


def _grouped(rows: list[T], key: Callable[[T], int]) -> dict[int, list[T]]:
    groups: dict[int, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups
