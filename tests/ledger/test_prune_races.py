"""Races of pruning with operations on the pruned jobs, stopped at every statement. Pruning changes no result."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sluice.broker.messages import Message
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.database.connection import Ledger
from sluice.ledger.retention import removal
from tests.ledger.ages import KEEP_S, later, pruned
from tests.ledger.races import Act, Acts, meet
from tests.ledger.results import finished
from tests.world import World

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 120


def _pruning(ledger: Ledger) -> Any:
    return ledger.transact(lambda tx: removal.prune(tx, keep_s=KEEP_S, limit=100)).removed


def _claiming(m: Acts) -> Act:
    """Claim ``d``, which is ready and needs the pruned jobs."""
    act = m.claim("d")

    def claim(ledger: Ledger) -> list[Message]:
        messages = act(ledger)
        assert len(m.taken) == 1
        return messages

    return claim


def _archiving(ledger: Ledger) -> None:
    assert len(ledger.transact(lambda tx: managed_tasks.archive_named(tx, [JobName("a", "1")]))) == 1


_OTHERS: Mapping[str, Callable[[Acts], Act]] = {
    "plan a child": lambda m: m.plan("c"),
    "ask for it": lambda m: m.plan("b"),
    "rerun it": lambda m: m.plan("b", rerun="job"),
    "rerun downstream": lambda m: m.plan("a", rerun="downstream"),
    "the same submission": lambda m: m.plan("b", id="first"),
    "claim a child": _claiming,
}
#: Changes of the states once all messages are delivered. They are the same as without pruning.
_STATES: Mapping[str, Mapping[str, State]] = {
    "plan a child": {"c": State.READY},
    "ask for it": {},
    "rerun it": {"b": State.READY},
    "rerun downstream": {"a": State.READY, "b": State.WAITING},
    "the same submission": {},
    "claim a child": {"d": State.RUNNING},
}


_BEFORE = {"a": State.SUCCEEDED, "b": State.SUCCEEDED, "d": State.READY}


def _old(world: World) -> None:
    """Make two jobs that succeeded long ago, ``a`` and ``b``, and ``d``, which was submitted today."""
    world.apps("a -> b -> c, b -> d")
    world.submit("b", id="first", push="wanted")
    for app in "ab":
        world.finish(app)
    later(world)
    world.submit("d", push="wanted")


@pytest.mark.parametrize("swapped", [False, True], ids=["prune stops", "the other stops"])
@pytest.mark.parametrize("other", _OTHERS)
def test_pruning_does_not_change_the_result_of_a_concurrent_verb(
    embedded_url: str, other: str, swapped: bool
) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        _old(m.world)
        return _pruning, _OTHERS[other](m)

    def check(m: Acts, _: object, messages: list[Message] | None) -> None:
        m.world.queue.extend(messages or [])
        m.world.deliver()
        assert m.world.states() == _BEFORE | _STATES[other]
        if "rerun" not in other:
            _pruning(m.world.ledger)
            assert "a" in pruned(m.world)

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True], ids=["prune stops", "archive stops"])
def test_a_result_is_pruned_only_once_it_is_archived(embedded_url: str, swapped: bool) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        _old_result(m.world, archive="manual")
        return _pruning, _archiving

    def check(m: Acts, *_: object) -> None:
        assert finished(m.world) == []
        _pruning(m.world.ledger)
        assert pruned(m.world) == {"a"}

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


def test_of_two_concurrent_prunings_one_prunes_the_job(embedded_url: str) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        _old_result(m.world)
        return _pruning, _pruning

    def check(_: Acts, one: Any, two: Any) -> None:
        assert sorted(each.jobs for each in (one, two)) == [0, 1]

    meet(lambda: Acts(embedded_url), arrange, check, swapped=False, most=STATEMENTS_MAX)


def _old_result(world: World, **options: str) -> None:
    """Make a job ``a`` that succeeded long ago."""
    world.apps("a", **options)
    world.submit("a")
    world.finish("a")
    later(world)
