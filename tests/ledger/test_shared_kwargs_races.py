"""Races of plans that refer to large kwargs, with the removal of these and with each other.

Each act is stopped at every statement.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sluice.broker.messages import Message
from sluice.ledger.database.connection import Ledger
from sluice.ledger.retention import removal
from tests.ledger.ages import KEEP_S, later
from tests.ledger.large_kwargs import large, shared
from tests.ledger.races import Act, Acts, meet
from tests.world import World

LARGE = large()
#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 120


def _pruning(ledger: Ledger) -> int:
    return ledger.transact(lambda tx: removal.prune_others(tx, keep_s=KEEP_S, limit=100)).kwargs


def _unused(world: World) -> None:
    """Leave large kwargs that no job refers to: ``a`` was run again with other kwargs, long ago."""
    world.apps("a, b")
    world.submit("a", kwargs=LARGE)
    world.finish("a")
    world.submit("a", rerun="job", kwargs={"n": 1})
    world.finish("a")
    later(world)
    assert world.ledger.transact(lambda tx: removal.preview_others(tx, keep_s=KEEP_S)).kwargs == 1


#: Plans that refer to the large kwargs, and the job that has these kwargs afterwards.
_PLANS: Mapping[str, tuple[str, Callable[[Acts], Act]]] = {
    "a new job": ("b", lambda m: m.plan("b", kwargs=LARGE)),
    "a job that runs again": ("a", lambda m: m.plan("a", rerun="job", kwargs=LARGE)),
}


@pytest.mark.parametrize("swapped", [False, True], ids=["prune stops", "plan stops"])
@pytest.mark.parametrize("plan", _PLANS)
def test_a_plan_that_races_the_removal_of_its_kwargs_has_them(
    embedded_url: str, plan: str, swapped: bool
) -> None:
    job, act = _PLANS[plan]

    def arrange(m: Acts) -> tuple[Act, Act]:
        _unused(m.world)
        return _pruning, act(m)

    def check(m: Acts, _: int, messages: list[Message] | None) -> None:
        m.world.queue.extend(messages or [])
        m.world.deliver()
        assert _claimed_kwargs(m.world, job) == LARGE

    meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


def test_two_plans_store_the_same_kwargs_once(embedded_url: str) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        m.world.apps("a, b")
        return m.plan("a", kwargs=LARGE), m.plan("b", kwargs=LARGE)

    def check(m: Acts, *sent: list[Message] | None) -> None:
        m.world.queue.extend(message for messages in sent for message in messages or [])
        m.world.deliver()
        assert shared(m.world) == [LARGE]
        for job in ("a", "b"):
            assert _claimed_kwargs(m.world, job) == LARGE

    meet(lambda: Acts(embedded_url), arrange, check, swapped=False, most=STATEMENTS_MAX)


def _claimed_kwargs(world: World, job: str) -> Any:
    claimed = world.claim(job)
    assert claimed is not None
    return claimed.kwargs
