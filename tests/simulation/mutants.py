"""Broken guards, and the seeds that must notice each."""

from collections.abc import Callable, Iterator

import pytest
from msgspec import Struct

from sluice.jobs.simulated import Faults
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.procedures import Procedure
from sluice.ledger.lifecycle import judgements, plain_successes
from tests.simulation.environment import Ground
from tests.simulation.run import simulate
from tests.stepwise import stepwise

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
        broken = statement.replace(old, new)
        monkeypatch.setattr(module, name, broken)
        _break_procedure(monkeypatch, statement, broken)

    return apply


def _break_procedure(monkeypatch: pytest.MonkeyPatch, statement: str, broken: str) -> None:
    """Break a statement of the procedure, if it has the statement. The procedure runs step by step then, because the
    function of the database is as before."""
    procedure = plain_successes.SETTLE_JOBS
    steps = [step._replace(sql=broken) if step.sql == statement else step for step in procedure.steps]
    if steps != [*procedure.steps]:
        monkeypatch.setattr(plain_successes, "SETTLE_JOBS", Procedure(procedure.name, *steps))
        monkeypatch.setattr(Tx, "call", lambda tx, procedure, **params: stepwise(tx, procedure, params))
        monkeypatch.setattr(Ledger, "may_be_alone", False)


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
