"""Archiving meets whoever runs a job again, or archives it too, stopped at every statement."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from broker.messages import Submit
from ledger import collecting
from ledger.collecting import Finished
from ledger.connection import Ledger
from tests.ledger.races import race, world_for_a_race
from tests.ledger.results import finished, keys, one_done
from tests.world import World, taken_in

Act = Callable[[Ledger], Any]


def _archiving(seen: Finished) -> Act:
    return lambda ledger: ledger.transact(lambda tx: collecting.archive(tx, [seen]))


def _running_again(world: World) -> Act:
    raw = msgspec.Raw(msgspec.json.encode({"app": "a", "key": "1", "rerun": "job"}))
    return lambda ledger: taken_in(ledger, world.catalogue, Submit(id="again", submission=raw))


@pytest.mark.parametrize("swapped", [False, True], ids=["archived first", "run again first"])
def test_archiving_meets_whoever_runs_it_again(embedded_url: str, swapped: bool) -> None:
    """Stopped at every statement: its new end is uncollected in any case."""
    for stop_before in range(80):
        with world_for_a_race(embedded_url) as world:
            acts = [_archiving(one_done(world)), _running_again(world)]
            first, second = reversed(acts) if swapped else acts
            stopped, one, two = race(embedded_url, lambda world=world: world.now, first, second, stop_before)
            world.queue.extend((one if swapped else two) or [])
            world.deliver()
            assert world.field("a", "archived_at") is None
            world.finish("a")
            assert keys(finished(world)) == ["1"]
        if not stopped:
            return
    raise AssertionError("a handler has more statements than it should")


def test_of_two_who_archive_one_result_one_has(embedded_url: str) -> None:
    for stop_before in range(10):
        with world_for_a_race(embedded_url) as world:
            seen = one_done(world)
            stopped, one, two = race(
                embedded_url, lambda world=world: world.now, _archiving(seen), _archiving(seen), stop_before
            )
            assert sorted(map(len, (one, two))) == [0, 1]
        if not stopped:
            return
    raise AssertionError("to archive takes more statements than it should")
