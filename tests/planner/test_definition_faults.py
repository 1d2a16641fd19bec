"""Definitions that users of Stolos and Stau wrote: their faults, and sizes that are accepted."""

import pytest

from tests.planner.definition_faults import DEFINITION_FAULTS, WITHIN_LIMITS
from tests.planner.definitions import catalogue_of, faults_of


@pytest.mark.parametrize("name", DEFINITION_FAULTS)
def test_a_fault_names_its_app_and_its_reason(name: str) -> None:
    apps, at_fault, words = DEFINITION_FAULTS[name]
    ((app, what),) = faults_of(apps)
    assert app == at_fault
    assert words in what


@pytest.mark.parametrize("name", WITHIN_LIMITS)
def test_sizes_within_the_limits_are_accepted(name: str) -> None:
    assert [*catalogue_of(WITHIN_LIMITS[name])] == [*WITHIN_LIMITS[name]]
