"""Many more inputs at every entry."""

import random

import pytest

from sluice.ops.console.access import AccessControl
from tests.fuzz import entries
from tests.ops.console_client import TOKEN, Asker, console_of, serving
from tests.world import World

SEEDS = range(100, 120)
COUNT = 200


@pytest.mark.parametrize("seed", SEEDS)
def test_every_entry_refuses_cleanly(seed: int, world: World) -> None:
    console = console_of(world, AccessControl(TOKEN))
    with serving(console.answer, console.refuse) as place:
        entries.many([random.Random(seed)], Asker(world), place, COUNT)
