"""Broken guards, and the seeds that must notice each."""

from collections.abc import Callable, Iterator

import pytest
from msgspec import Struct

from sluice.jobs.simulated import Faults
from sluice.ledger.lifecycle import judgements
from tests.simulation.environment import Ground
from tests.simulation.run import simulate

Break = Callable[[pytest.MonkeyPatch], None]
#: Number of seeds within which a broken guard must show.
SEEDS = 250


class Mutant(Struct, frozen=True):
    """A broken guard: ``apply`` breaks it, and ``theme`` is the subject of the worlds that show it.

    The seeds are tried from ``first`` on, and the ones before it last. So a seed that is known to show it saves time,
    and other seeds still count if it no longer does. ``faults`` are the faults that expose it. Default: drawn faults.
    """

    apply: Break
    first: int = 0
    theme: str = "anything"
    faults: Faults | None = None

    def show(self, ground: Ground) -> None:
        """Raise Violation if a world shows the broken guard."""
        for seed in self.seeds():
            simulate(ground, seed, self.faults, self.theme)

    def seeds(self) -> Iterator[int]:
        return ((self.first + place) % SEEDS for place in range(SEEDS))


def sql(module: object, name: str, old: str, new: str) -> Break:
    """Return a mutant that replaces a part of a statement."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        statement = getattr(module, name)
        assert old in statement, "the mutant mutates nothing"
        monkeypatch.setattr(module, name, statement.replace(old, new))

    return apply


def code(module: object, name: str, new: object) -> Break:
    return lambda monkeypatch: monkeypatch.setattr(module, name, new)


def no_effect(kind: str) -> Break:
    """Leave out the effect of a success of this kind of job."""
    left = tuple(effect for effect in judgements.ON_SUCCESS if effect.kind != kind)
    assert len(left) < len(judgements.ON_SUCCESS), f"no effect is for {kind}"
    return code(judgements, "ON_SUCCESS", left)


def both(first: Break, second: Break) -> Break:
    """Return a mutant without two guards, each of which hides that the other is missing."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        first(monkeypatch)
        second(monkeypatch)

    return apply
