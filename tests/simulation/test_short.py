"""A short simulation for ``make test``: 24 seeds, and a few of other themes. Every guard to be broken exists."""

import pytest

from tests.simulation.environment import Ground
from tests.simulation.guards import GUARDS
from tests.simulation.seeds import run_on

#: Number of seeds of each theme. ``test_simulation.py`` has the next ones.
SEEDS = {
    "anything": 24,
    "partitions": 4,
    "sagas": 4,
    "trips": 4,
    "expansions": 4,
    "notifications": 4,
    "removals": 4,
}


@pytest.mark.parametrize("theme", SEEDS)
def test_all_invariants_hold_under_a_few_seeds(theme: str, ground: Ground) -> None:
    _, failures = run_on(ground, range(SEEDS[theme]), theme)
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_to_be_broken_exists(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``make night`` breaks them. This test notices a guard that has moved."""
    GUARDS[guard].apply(monkeypatch)
