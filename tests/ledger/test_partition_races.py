"""Races of plans for partitions, with each other and with other operations, stopped at every statement.

Each partition is made once, and every job ends.
"""

import pytest

from sluice.broker.messages import Ended, Message
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.keyspaces import partitions
from tests.ledger.lineages import ask, stale, states, take, there, times_made, work_off
from tests.ledger.partition_races import (
    FAIL,
    LINEAGE,
    MEETINGS,
    SPAN,
    STALE,
    TWICE,
    Arrange,
    G,
    a_plan_and_a_cancellation,
    a_plan_and_the_success_of_the_joined_job,
    cancel,
    plan,
    running,
    two_plans_that_overlap,
)
from tests.ledger.races import Act, Acts, meet, meet_and_finish
from tests.world import LEASE_S, World

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 90


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_each_partition_is_made_once_in_every_race(
    embedded_url: str, arrange: Arrange, swapped: bool
) -> None:
    def finish(m: Acts) -> None:
        _work_off(m.world)
        _check(m.world, arrange)

    meet_and_finish(
        lambda: Acts(embedded_url),
        lambda m: arrange(m.world),
        finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


def _work_off(world: World) -> None:
    """Run jobs until nothing changes. Workers that were running at first send no more heartbeats."""
    for _ in range(5):
        work_off(world)
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=LEASE_S + 1)
        world.worker = world.hire()
    raise AssertionError(f"they wait indefinitely: {states(world)}")


def _check(world: World, arrange: Arrange) -> None:
    if arrange not in FAIL:
        assert there(world, "g")[:2] == SPAN[:2]
        assert there(world, "j")[:2] == SPAN[:2]
    # A partition that was made from a stale one is stale too.
    made = {day for day in there(world, "j") if day in stale(world, "g")}
    assert made <= {*stale(world, "j")}
    if arrange in STALE:
        assert stale(world, "g") == SPAN[:2]
    for app in {"s", "g", "j"}.intersection(world.catalogue):
        often = {day for day, times in times_made(world, app).items() if times > 1}
        assert not often or app in TWICE.get(arrange, ()), f"{app}: {often}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_the_advisory_locks_two_plans_take_each_others_partitions(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the races can fail: a planner assigns a partition twice, or finds it already assigned."""
    monkeypatch.setattr(partitions, "lock_tables", lambda tx, places: None)
    with pytest.raises(AssertionError, match="a transaction raised an error"):
        test_each_partition_is_made_once_in_every_race(embedded_url, two_plans_that_overlap, False)


def test_without_the_lock_on_a_joined_step_partitions_are_not_made(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_HOLD", partitions._HOLD.replace(" FOR SHARE", ""))
    with pytest.raises(AssertionError, match="2024-04-03"):
        _meet_in_both_orders(
            embedded_url, a_plan_and_a_cancellation, a_plan_and_the_success_of_the_joined_job
        )


def _meet_in_both_orders(url: str, *arrangements: Arrange) -> None:
    for arrange in arrangements:
        for swapped in (False, True):
            test_each_partition_is_made_once_in_every_race(url, arrange, swapped)


class Overdue(Acts):
    """World with a claimed step and a lease that has ended."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        _, self.claimed = running(self.world)
        self.number = self.world.catalogue["g"].partitioning.calendar.read(SPAN[1])
        self.world.now = self.world.now.replace(second=int(LEASE_S) + 1)

    def acknowledges(self, ledger: Ledger) -> bool:
        return ledger.transact(lambda tx: partitions.acknowledge(tx, self.claimed.right, self.number))


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_an_acknowledgement_and_the_next_claim_never_both_get_a_partition(
    embedded_url: str, swapped: bool
) -> None:
    """The lease has ended.

    Either the acknowledgement was in time and the next claim has fewer partitions, or it is refused and the next
    claim has all.
    """

    def check(m: Overdue, is_acknowledged: bool, sent: list[Message]) -> None:
        m.world.queue.extend(sent)
        m.world.deliver()
        m.world.worker = m.world.hire()
        left = take(m.world, G).partitions or ()
        assert (m.number in left) is not is_acknowledged
        assert len(left) == 2 - is_acknowledged

    meet(
        lambda: Overdue(embedded_url),
        lambda m: (m.acknowledges, m.groom()),
        check,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


def test_a_plan_never_waits_for_a_cancelled_step(embedded_url: str) -> None:
    """In addition to the races above, the second submission must get all its partitions."""

    def arrange(m: Acts) -> tuple[Act, Act]:
        m.world.define(LINEAGE)
        id_ = ask(m.world, "j", "2024-04-01", "2024-04-02")
        return plan(m.world, "j", "2024-04-02", "2024-04-03"), cancel(m.world, id_)

    def check(m: Acts, planned: list[Message] | None, cancelled: list[Message] | None) -> None:
        # Messages about cancelled jobs may be late or lost.
        sent = [*(planned or []), *(cancelled or [])]
        m.world.queue.extend(message for message in sent if not isinstance(message, Ended))
        m.world.deliver()
        m.world.tick(after_s=3)
        _work_off(m.world)
        assert m.world.submission("j 2024-04-02 2024-04-03") == "succeeded"
        assert there(m.world, "j") == SPAN[1:]

    for swapped in (False, True):
        meet(lambda: Acts(embedded_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)
