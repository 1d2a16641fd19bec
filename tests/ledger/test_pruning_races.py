"""Pruning meets whoever has use for what is pruned, stopped at every statement: nobody hears or does anything else."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from actors import executor
from broker.messages import Execute, Message, Submit, Turn
from jobs.ref import JobName
from jobs.states import State
from ledger import collecting, pruning
from ledger.connection import Ledger
from tests.ledger.ages import KEEP_S, later, pruned
from tests.ledger.races import at_each_statement, race, world_for_a_race
from tests.ledger.results import finished
from tests.world import World, taken_in

Act = Callable[[Ledger], Any]
#: More statements than any handler here has.
STATEMENTS_MAX = 120


def _pruning(ledger: Ledger) -> Any:
    return ledger.transact(lambda tx: pruning.prune(tx, keep_s=KEEP_S, limit=100)).removed


def _asking(world: World, app: str, id: str = "again", **words: Any) -> Act:
    raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": "1", **words}))
    return lambda ledger: taken_in(ledger, world.catalogue, Submit(id=id, submission=raw))


def _claiming(world: World) -> Act:
    """``d`` waits to be run, and needs what is pruned."""
    known = world.known("d")
    message = Execute(app="d", jobs=(Turn(known.id, 0),))
    worker = world.worker

    def claim(ledger: Ledger) -> list[Message]:
        claimed, messages = executor.claim(ledger, world.catalogue, message, worker)
        assert len(claimed) == 1
        return [*messages]

    return claim


def _archiving(world: World) -> Act:
    name = JobName("a", "1")

    def archive(ledger: Ledger) -> list[Message]:
        assert len(ledger.transact(lambda tx: collecting.archive_named(tx, [name]))) == 1
        return []

    return archive


_OTHERS: Mapping[str, Callable[[World], Act]] = {
    "plan a child": lambda world: _asking(world, "c"),
    "ask for it": lambda world: _asking(world, "b"),
    "rerun it": lambda world: _asking(world, "b", rerun="job"),
    "rerun downstream": lambda world: _asking(world, "a", rerun="downstream"),
    "the same submission": lambda world: _asking(world, "b", id="first"),
    "claim a child": _claiming,
}
#: What there is once all has been delivered, as it is without any pruning.
_STATES: Mapping[str, Mapping[str, State]] = {
    "plan a child": {"c": State.READY},
    "ask for it": {},
    "rerun it": {"b": State.READY},
    "rerun downstream": {"a": State.READY, "b": State.WAITING},
    "the same submission": {},
    "claim a child": {"d": State.RUNNING},
}


def _old(world: World) -> dict[str, State]:
    """``a`` and ``b`` have succeeded long ago, ``d`` was asked for today."""
    world.apps("a -> b -> c, b -> d")
    world.submit("b", id="first", push="wanted")
    for app in "ab":
        world.finish(app)
    later(world)
    world.submit("d", push="wanted")
    return {"a": State.SUCCEEDED, "b": State.SUCCEEDED, "d": State.READY}


@pytest.mark.parametrize("swapped", [False, True], ids=["prune stops", "the other stops"])
@pytest.mark.parametrize("other", _OTHERS)
def test_pruning_changes_nothing_for_whoever_comes_meanwhile(
    embedded_url: str, other: str, swapped: bool
) -> None:

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            there = _old(world)
            acts = [_pruning, _OTHERS[other](world)]
            first, second = reversed(acts) if swapped else acts
            stopped, one, two = race(embedded_url, lambda: world.now, first, second, stop_before)
            world.queue.extend((one if swapped else two) or [])
            world.deliver()
            assert world.states() == there | _STATES[other]
            if "rerun" not in other:
                _pruning(world.ledger)
                assert "a" in pruned(world)
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True], ids=["prune stops", "archive stops"])
def test_a_result_is_pruned_only_once_it_is_archived(embedded_url: str, swapped: bool) -> None:

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            world.apps("a", archive="manual")
            world.submit("a")
            world.finish("a")
            later(world)
            acts: list[Act] = [_pruning, _archiving(world)]
            first, second = reversed(acts) if swapped else acts
            stopped, _, _ = race(embedded_url, lambda: world.now, first, second, stop_before)
            assert finished(world) == []
            _pruning(world.ledger)
            assert pruned(world) == {"a"}
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


def test_of_two_who_prune_one_job_one_does(embedded_url: str) -> None:

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            world.apps("a")
            world.submit("a")
            world.finish("a")
            later(world)
            stopped, one, two = race(embedded_url, lambda: world.now, _pruning, _pruning, stop_before)
            assert sorted(each.jobs for each in (one, two)) == [0, 1]
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)
