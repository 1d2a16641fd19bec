from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.simulation.environment import Ground


@pytest.fixture
def ground(embedded_url: str) -> Iterator[Ground]:
    with closing(Ground(embedded_url)) as made:
        yield made
