"""Every guard that ``test_simulation.py`` leaves intact is broken here. The simulation must notice each."""

import pytest

from tests.simulation import test_simulation
from tests.simulation.environment import Ground
from tests.simulation.guards import GUARDS, assert_noticed


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("guard", sorted(GUARDS.keys() - set(test_simulation.GUARDS)))
def test_a_broken_guard_is_noticed(guard: str, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_noticed(guard, ground, monkeypatch)
