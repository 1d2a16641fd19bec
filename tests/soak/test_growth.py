"""Tests of the check for growth."""

import pytest

from tests.soak.growth import growing
from tests.soak.reading import Reading

MIB = 2**20


def _readings(*mib: int) -> list[Reading]:
    return [
        Reading(
            at_s=place, ended=place, waited_ms=(1.0, 2.0), memory={"worker": each * MIB}, tables={}, place=0
        )
        for place, each in enumerate(mib)
    ]


@pytest.mark.parametrize(
    "mib", [(50, 90, 100, 100, 101, 100, 99, 102, 100), (10, 10, 10, 12, 12, 12, 14, 14, 14), (7, 90)]
)
def test_a_process_that_warms_up_or_fluctuates_has_not_grown(mib: tuple[int, ...]) -> None:
    assert [*growing(_readings(*mib))] == []


def test_a_process_with_rising_memory_has_grown() -> None:
    (said,) = growing(_readings(50, 60, 70, 80, 90, 100, 110, 120, 130))
    assert said == "worker has grown from 90 to 120 MiB"
