"""A minute's worth of simulation for ``make test``: thirty seeds, and a few of sagas."""

import pytest

from tests.simulation.ground import Ground
from tests.simulation.seeds import run_on

#: How many seeds of each theme; ``test_simulation.py`` goes on from there.
SEEDS = {"anything": 24, "sagas": 4, "trips": 4}


@pytest.mark.parametrize("theme", SEEDS)
def test_all_invariants_hold_under_a_few_seeds(theme: str, ground: Ground) -> None:
    _, failures = run_on(ground, range(SEEDS[theme]), theme)
    assert not failures, "\n".join(failures)
