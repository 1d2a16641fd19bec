"""A claim that was committed and lost its answer. It is repeated, and takes other jobs."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.settings.settings import Settings
from sluice.broker.messages import Execute, Message
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.failpoints import CommitPoints
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.recovery import leases
from tests.world import LEASE_S, World

T = TypeVar("T")


class ForgetfulLedger(Ledger):
    """Ledger that loses the answer to every commit, so every transaction runs twice."""

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        super().transact(work, at)
        return super().transact(work, at)


def strays(world: World, *known: Claim) -> list[Claim]:
    return world.ledger.transact(lambda tx: leases.strays(tx, world.worker, list(known), grace_s=LEASE_S))


def pass_time(world: World, seconds: float) -> None:
    """Let time pass in steps that a living worker survives."""
    for _ in range(int(seconds / 5)):
        world.tick(after_s=5)
        world.beat(world.worker)


def test_claims_that_are_unknown_to_their_worker_are_found_once_old(world: World) -> None:
    world.apps("a")
    world.submit("a", "1")
    world.submit("a", "2")
    known, unknown = world.claim("a/1"), world.claim("a/2")
    assert known is not None
    assert unknown is not None
    assert strays(world, known.right) == []
    pass_time(world, LEASE_S + 5)
    assert strays(world, known.right) == [unknown.right]
    assert strays(world, known.right, unknown.right) == []


@pytest.mark.parametrize("is_away", [True, False], ids=["in an outage", "later"])
def test_the_jobs_of_a_claim_with_a_lost_answer_are_handed_back_with_one_line(
    world: World, caplog: pytest.LogCaptureFixture, *, is_away: bool
) -> None:
    caplog.set_level("INFO")
    world.apps("a")
    for key in "123":
        world.submit("a", key)
    first = world.offered[0]
    forgetful = ForgetfulLedger(world.url, connections=1, clock=lambda: world.now)
    sent: list[Message] = []
    running = Execution(
        forgetful,
        lambda: world.catalogue,
        ClaimsInFlight(),
        world.worker,
        sent.extend,
        stores=stores(Settings()),
    )
    running.execute(first, _Delivery())
    forgetful.close()
    assert sorted(world.states().values()) == [State.READY, State.RUNNING, State.SUCCEEDED]

    pass_time(world, LEASE_S + 5)
    sent.clear()
    left = strays(world)
    running = Execution(
        world.ledger,
        lambda: world.catalogue,
        ClaimsInFlight(),
        world.worker,
        sent.extend,
        stores=stores(Settings()),
    )
    if is_away:
        world.ledger.outages.failed("refused", part="a test")
    caplog.clear()
    running.give_back(left)
    world.ledger.outages.answered(part="a test")
    (line,) = [record.getMessage() for record in caplog.records]
    assert (
        "; jobs that never began, handed back: 1" if is_away else "1 job of this worker never began"
    ) in line
    assert [len(message.jobs) for message in sent if isinstance(message, Execute)] == [1]
    assert State.RUNNING not in world.states().values()


def test_a_claim_is_known_until_its_outcome_is_recorded() -> None:
    holdings = ClaimsInFlight()
    claim = Claim(1, 1)
    holdings.take([claim])
    holdings.release([claim])
    assert (holdings.claims(), holdings.known()) == ([], [claim])
    holdings.forget([claim])
    assert holdings.known() == []


class _Delivery:
    def acknowledge(self) -> None:
        """Do nothing."""

    def give_back(self) -> None:
        raise AssertionError("it is not draining")
