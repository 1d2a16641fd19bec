"""Broken guards, and the seeds among which each has to be noticed."""

from collections.abc import Callable, Iterator

import pytest
from msgspec import Struct

from sluice.jobs.simulated import Faults
from tests.simulation.ground import Ground
from tests.simulation.run import simulate

Break = Callable[[pytest.MonkeyPatch], None]
#: A broken guard has to show within so many seeds.
SEEDS = 250


class Mutant(Struct, frozen=True):
    """What breaks it, and what the worlds are about that show it. The seeds are tried from ``first`` on, and those
    before it at last: so one that is known to show it saves time, and nothing is lost where it does not any more.
    ``faults`` are those that bring it to light, where they are not to be drawn."""

    apply: Break
    first: int = 0
    theme: str = "anything"
    faults: Faults | None = None

    def show(self, ground: Ground) -> None:
        """Violation, if it is."""
        for seed in self.seeds():
            simulate(ground, seed, self.faults, self.theme)

    def seeds(self) -> Iterator[int]:
        return ((self.first + place) % SEEDS for place in range(SEEDS))


def sql(module: object, name: str, old: str, new: str) -> Break:
    """A mutant whose statement says something else."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        statement = getattr(module, name)
        assert old in statement, "the mutant mutates nothing"
        monkeypatch.setattr(module, name, statement.replace(old, new))

    return apply


def code(module: object, name: str, new: object) -> Break:
    return lambda monkeypatch: monkeypatch.setattr(module, name, new)


def both(first: Break, second: Break) -> Break:
    """A mutant without two guards, each of which hides that the other is missing."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        first(monkeypatch)
        second(monkeypatch)

    return apply
