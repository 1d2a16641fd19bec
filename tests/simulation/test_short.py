"""A short simulation for ``make test``: 24 seeds, and a few of sagas."""

import pytest

from tests.simulation.environment import Ground
from tests.simulation.seeds import run_on

#: Number of seeds of each theme. ``test_simulation.py`` has the next ones.
SEEDS = {"anything": 24, "sagas": 4, "trips": 4}


@pytest.mark.parametrize("theme", SEEDS)
def test_all_invariants_hold_under_a_few_seeds(theme: str, ground: Ground) -> None:
    _, failures = run_on(ground, range(SEEDS[theme]), theme)
    assert not failures, "\n".join(failures)
