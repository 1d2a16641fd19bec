"""Every attack is refused with a clear line, and other jobs start meanwhile as usual."""

from collections.abc import Iterator

import pytest

from tests.attacks.attack import Attack, make
from tests.attacks.catalogue import ATTACKS
from tests.attacks.installation import Installation, installation


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(tmp_path_factory.mktemp("attacked"), "rabbit") as made:
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=[each.name for each in ATTACKS])
def test_an_attack_is_refused_and_other_jobs_start_in_time(attack: Attack, place: Installation) -> None:
    assert make(place, attack).refusal
