"""What happened: the rows of the ledger after a run, and the lines that the run left outside it.

Times of effects are of the machine's monotonic
clock: they compare with each other exactly, over all processes, and with those of the ledger within a tolerance.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from sluice.ledger.connection import Ledger
from tests.chaos.acts import Kind
from tests.chaos.rows import Job, Round, Rows, Submission, Transition, read_rows

T = TypeVar("T")

#: How far the monotonic clock and the database's may have drifted apart since a run began: a jump by whoever sets the
#: clock at first, and what slewing takes at most from then on.
SKEW_S = 0.2
SKEW_PER_S = 0.0005


class Run(Struct, frozen=True):
    """``monotonic_to_epoch_s`` is what to add to a monotonic time to have the database's, as the run began."""

    seed: int
    seconds: float
    broker: str
    ledger: str
    monotonic_to_epoch_s: float


class Effect(Struct, frozen=True):
    """One line that a job wrote: it begins, is at work, is done, or is undone. ``step`` is of a saga's."""

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
    """A worker stood still from ``at`` for so long, by SIGSTOP, and could not end what it ran."""

    at: float
    for_s: float


class Accepted(Struct, frozen=True):
    """A submission of which a client was told that it is taken in."""

    id: str
    app: str
    by: Literal["ledger", "message", "http"]


class History:
    """A run as it is found afterwards, by what one looks for."""

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
        """By job, its way from state to state."""
        return _grouped(self.rows.transitions, lambda step: step.job)

    @cached_property
    def rounds_of(self) -> dict[int, list[Round]]:
        """By job, its claims in their order."""
        return _grouped(self.rows.rounds, lambda each: each.job)

    @cached_property
    def rounds(self) -> dict[tuple[int, int], Round]:
        return {(each.job, each.claim): each for each in self.rows.rounds}

    @cached_property
    def effects_of(self) -> dict[int, list[Effect]]:
        """By job, what it did, in the order in which it did it."""
        return _grouped(self.effects, lambda effect: effect.job)

    @cached_property
    def leaves_effects(self) -> set[str]:
        """The apps whose jobs write down what they do."""
        return {effect.app for effect in self.effects}

    @cached_property
    def flown(self) -> set[int]:
        """The jobs that are flights of sagas: a journal has them, or one of their effects is a step's."""
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
        """How far the two clocks may be apart by the end."""
        lasted_s = self.effects[-1].at - self.effects[0].at if self.effects else 0.0
        return SKEW_S + SKEW_PER_S * lasted_s


def read(folder: Path, ledger_url: str) -> History:
    """The record of a run, with the ledger as it is now."""
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
    """Whoever was killed within his last line has not written that."""
    if file.exists():
        for line in file.read_bytes().split(b"\n")[:-1]:
            yield msgspec.json.decode(line, type=kind)


def _grouped(rows: list[T], key: Callable[[T], int]) -> dict[int, list[T]]:
    groups: dict[int, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups
