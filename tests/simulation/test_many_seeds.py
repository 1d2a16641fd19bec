"""Invariants under a thousand seeds, or ``SLUICE_SIMULATION_SEEDS``; a quarter as many of partitions, sagas,
compensations, expansions, notifications and removals."""

import os

import pytest

from tests.simulation import test_simulation
from tests.simulation.environment import Ground
from tests.simulation.seeds import run_on

_MANY = int(os.environ.get("SLUICE_SIMULATION_SEEDS", "1000"))
SEEDS = {"anything": _MANY} | dict.fromkeys(
    ("partitions", "sagas", "trips", "expansions", "notifications", "removals"), _MANY // 4
)
#: Number of tests that share the seeds, so that they can run side by side.
SHARES = 10


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("theme", SEEDS)
@pytest.mark.parametrize("share", range(SHARES))
def test_all_invariants_hold_under_faults_of_network_and_workers(
    theme: str, share: int, ground: Ground
) -> None:
    _, failures = run_on(ground, range(test_simulation.SEEDS[theme] + share, SEEDS[theme], SHARES), theme)
    assert not failures, "\n".join(failures)
