"""Plans about partitions meet each other, and whoever else is about, stopped at every statement: each partition is made
once, nobody waits in vain, and nothing is made that nobody wants."""

import pytest

from actors import groomer
from broker.messages import Ended, Tick
from jobs.states import LIVE, State
from ledger import partitions
from ledger.claims import Claimed
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.ledger.lineages import ask, states, take, there, times_made, work_off
from tests.ledger.races import race, world_for_a_race
from tests.ledger.step_meetings import (
    FAIL,
    LINEAGE,
    MEETINGS,
    SPAN,
    TWICE,
    Arrange,
    G,
    a_plan_and_a_cancellation,
    a_plan_and_the_success_of_what_it_joins,
    cancel,
    plan,
    running,
    two_plans_that_overlap,
)
from tests.world import LEASE_S, World

#: No handler here has more statements than this.
STATEMENTS_MAX = 90


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_each_partition_is_made_once_whoever_else_is_about(
    embedded_url: str, arrange: Arrange, swapped: bool
) -> None:
    for stop_before in range(STATEMENTS_MAX):
        with world_for_a_race(embedded_url) as world:
            acts = arrange(world)
            first, second = reversed(acts) if swapped else acts
            stopped, one, two = race(embedded_url, lambda world=world: world.now, first, second, stop_before)
            assert world.ledger.transact(breaches) == [], f"stopped before statement {stop_before}"
            world.queue.extend([*(one or []), *(two or [])])
            world.deliver()
            _work_off(world)
            _check(world, arrange)
        if not stopped:
            return
    raise AssertionError("a handler has more statements than it should")


def _work_off(world: World) -> None:
    """Until nothing moves: workers that were running at first are never heard of again."""
    for _ in range(5):
        work_off(world)
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=LEASE_S + 1)
        world.worker = world.hire()
    raise AssertionError(f"they wait for ever: {states(world)}")


def _check(world: World, arrange: Arrange) -> None:
    if arrange not in FAIL:
        assert there(world, "g")[:2] == SPAN[:2]
        assert there(world, "j")[:2] == SPAN[:2]
    for app in {"s", "g", "j"}.intersection(world.catalogue):
        often = {day for day, times in times_made(world, app).items() if times > 1}
        assert not often or app in TWICE.get(arrange, ()), f"{app}: {often}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_turns_two_plans_take_each_others_partitions(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The races can fail: planners that take no turns give a partition away twice, or find it given away."""
    monkeypatch.setattr(partitions, "take_turns", lambda tx, places: None)
    with pytest.raises(AssertionError):
        test_each_partition_is_made_once_whoever_else_is_about(embedded_url, two_plans_that_overlap, False)


def test_without_a_hold_on_what_is_joined_a_plan_waits_for_ever(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_HOLD", partitions._HOLD.replace(" FOR SHARE", ""))
    with pytest.raises(AssertionError):
        _meet_in_both_orders(embedded_url, a_plan_and_a_cancellation, a_plan_and_the_success_of_what_it_joins)


def _meet_in_both_orders(url: str, *arrangements: Arrange) -> None:
    for arrange in arrangements:
        for swapped in (False, True):
            test_each_partition_is_made_once_whoever_else_is_about(url, arrange, swapped)


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_who_acknowledges_and_who_takes_over_never_both_hold_a_partition(
    embedded_url: str, swapped: bool
) -> None:
    """The lease has ended: either the acknowledgement was in time and the next claim has less to make, or it is
    refused and the next claim has all."""
    for stop_before in range(STATEMENTS_MAX):
        with world_for_a_race(embedded_url) as world:
            _, claimed = running(world)
            number = world.catalogue["g"].partitioning.calendar.read(SPAN[1])
            world.now = world.now.replace(second=int(LEASE_S) + 1)

            def acknowledges(ledger: Ledger, claimed: Claimed = claimed, number: int = number) -> bool:
                return ledger.transact(lambda tx: partitions.acknowledge(tx, claimed.right, number))

            def takes_over(ledger: Ledger, world: World = world) -> bool:
                world.queue.extend(groomer.tick(ledger, world.catalogue, Tick()))
                return False

            acts = (takes_over, acknowledges) if swapped else (acknowledges, takes_over)
            stopped, *answers = race(embedded_url, lambda world=world: world.now, *acts, stop_before)
            world.deliver()
            world.worker = world.hire()
            left = take(world, G).partitions or ()
            assert (number in left) is not any(answers)
            assert len(left) == 2 - any(answers)
        if not stopped:
            return
    raise AssertionError("a handler has more statements than it should")


def test_a_cancelled_step_is_never_waited_for(embedded_url: str) -> None:
    """Told apart from the meetings above by what is left: the second submission gets what it asked for."""
    for swapped in (False, True):
        for stop_before in range(STATEMENTS_MAX):
            with world_for_a_race(embedded_url) as world:
                world.define(LINEAGE)
                id_ = ask(world, "j", "2024-04-01", "2024-04-02")
                acts = [plan(world, "j", "2024-04-02", "2024-04-03"), cancel(world, id_)]
                first, second = reversed(acts) if swapped else acts
                stopped, one, two = race(
                    embedded_url, lambda world=world: world.now, first, second, stop_before
                )
                # The news of what was cancelled may come late, or not at all.
                world.queue.extend(m for m in [*(one or []), *(two or [])] if not isinstance(m, Ended))
                world.deliver()
                world.tick(after_s=3)
                _work_off(world)
                assert world.submission("j 2024-04-02 2024-04-03") == "succeeded"
                assert there(world, "j") == SPAN[1:]
            if not stopped:
                break
        else:
            raise AssertionError("a handler has more statements than it should")
