"""Plans about partitions meet each other, and whoever else is about, stopped at every statement: each partition is made
once, nobody waits in vain, and nothing is made that nobody wants."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors import executor, groomer, landing, pausing, planner
from broker.messages import Cancel, Ended, Executed, Landed, Pause, Submit, Tick
from jobs.outcome import Ending, Outcome
from jobs.states import LIVE, State
from ledger import partitions
from ledger.claims import Claimed
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.ledger.lineages import (
    acknowledge,
    ask,
    days,
    lineage,
    states,
    take,
    there,
    times_made,
    work_off,
)
from tests.ledger.races import race
from tests.world import LEASE_S, World

#: No handler here has more statements than this.
STATEMENTS_MAX = 90

Act = Callable[[Ledger], Any]
Arrange = Callable[[World], tuple[Act, Act]]
LINEAGE = lineage("s, g*2: s, j: g", max_fails=1)
G = "g/2024-04-01..2024-04-02"
SPAN = days("2024-04-01", "2024-04-03")


def plan(world: World, app: str, first: str, last: str, **words: object) -> Act:
    request = msgspec.json.encode({"app": app, "start": first, "end": last, **words})
    message = Submit(id=f"{app} {first} {last}", submission=msgspec.Raw(request))
    return lambda ledger: list(planner.submit(ledger, world.catalogue, message))


def cancel(world: World, id_: str) -> Act:
    return lambda ledger: list(planner.cancel(ledger, world.catalogue, Cancel(submission=id_)))


def record(world: World, claimed: Claimed, ending: Ending = Ending.DONE) -> Act:
    """It ends and is judged."""

    def act(ledger: Ledger) -> list[Any]:
        messages, _ = executor.record(ledger, {claimed.right: Outcome(ending=ending)})
        judged = planner.executed(ledger, world.catalogue, Executed(jobs=(claimed.id,)))
        return [*messages, *judged]

    return act


def land(world: World, table: str, *texts: str) -> Act:
    message = Landed(table=table, partitions=texts)
    return lambda ledger: list(landing.landed(ledger, world.catalogue, message))


def _running(world: World) -> tuple[str, Claimed]:
    """A submission for ``j`` whose ``g`` runs."""
    world.define(LINEAGE)
    id_ = ask(world, "j", "2024-04-01", "2024-04-02")
    work_off(world, only="s/")
    return id_, take(world, G)


def _two_plans_that_overlap(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    return plan(world, "j", "2024-04-01", "2024-04-02"), plan(world, "j", "2024-04-02", "2024-04-03")


def _two_plans_for_tables_of_one_lineage(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    return plan(world, "s", "2024-04-01", "2024-04-03"), plan(world, "j", "2024-04-01", "2024-04-03")


def _a_plan_and_the_success_of_what_it_joins(world: World) -> tuple[Act, Act]:
    _, claimed = _running(world)
    return plan(world, "j", "2024-04-01", "2024-04-03"), record(world, claimed)


def _a_plan_and_the_failure_of_what_it_joins(world: World) -> tuple[Act, Act]:
    world.define(lineage("s, g*2: s, j: g"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    work_off(world, only="s/")
    claimed = take(world, G)
    return plan(world, "j", "2024-04-01", "2024-04-03"), record(world, claimed, Ending.ERROR)


def _a_plan_and_a_failure_further_up(world: World) -> tuple[Act, Act]:
    world.define(lineage("s, g*2: s, j: g"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    return (
        plan(world, "j", "2024-04-01", "2024-04-03"),
        record(world, take(world, "s/2024-04-02"), Ending.ERROR),
    )


def _a_plan_and_another_round_of_what_it_joins(world: World) -> tuple[Act, Act]:
    _, claimed = _running(world)
    return plan(world, "j", "2024-04-01", "2024-04-03"), record(world, claimed, Ending.ERROR)


def _a_plan_and_a_cancellation(world: World) -> tuple[Act, Act]:
    id_, _ = _running(world)
    return plan(world, "j", "2024-04-01", "2024-04-03"), cancel(world, id_)


def _a_plan_and_a_cancellation_while_the_inputs_wait(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    id_ = ask(world, "g", "2024-04-01", "2024-04-03")
    return plan(world, "j", "2024-04-01", "2024-04-03"), cancel(world, id_)


def _a_plan_and_a_landing(world: World) -> tuple[Act, Act]:
    world.define(lineage("g*2: s, j: g"))
    world.land("s", "2024-04-01", "2024-04-03")
    return plan(world, "j", "2024-04-01", "2024-04-03"), land(world, "s", "2024-04-02")


def _a_plan_and_a_landing_of_what_it_would_make(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    return plan(world, "j", "2024-04-01", "2024-04-03"), land(world, "g", "2024-04-02..2024-04-03")


def _a_plan_and_a_pause(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    id_ = ask(world, "g", "2024-04-01", "2024-04-02")
    return (
        plan(world, "j", "2024-04-01", "2024-04-03"),
        lambda ledger: list(pausing.pause(ledger, world.catalogue, Pause(submission=id_))),
    )


def _a_plan_and_an_acknowledgement(world: World) -> tuple[Act, Act]:
    _, claimed = _running(world)
    day = SPAN[1]
    number = world.catalogue["g"].partitioning.calendar.read(day)

    def act(ledger: Ledger) -> list[Any]:
        assert ledger.transact(lambda tx: partitions.acknowledge(tx, claimed.right, number))
        return []

    return plan(world, "j", "2024-04-01", "2024-04-03"), act


def _a_plan_to_make_anew_and_the_end_of_a_step_that_has_made_all(world: World) -> tuple[Act, Act]:
    _, claimed = _running(world)
    acknowledge(world, claimed, *SPAN[:2])
    return plan(world, "g", "2024-04-01", "2024-04-02", rerun="job"), record(world, claimed)


MEETINGS: list[Arrange] = [
    _two_plans_that_overlap,
    _two_plans_for_tables_of_one_lineage,
    _a_plan_and_the_success_of_what_it_joins,
    _a_plan_and_the_failure_of_what_it_joins,
    _a_plan_and_a_failure_further_up,
    _a_plan_and_another_round_of_what_it_joins,
    _a_plan_and_a_cancellation,
    _a_plan_and_a_cancellation_while_the_inputs_wait,
    _a_plan_and_a_landing,
    _a_plan_and_a_landing_of_what_it_would_make,
    _a_plan_and_a_pause,
    _a_plan_and_an_acknowledgement,
    _a_plan_to_make_anew_and_the_end_of_a_step_that_has_made_all,
]
#: What may be made a second time in the course of these.
TWICE = {_a_plan_to_make_anew_and_the_end_of_a_step_that_has_made_all: {"g"}}
#: Here the plan may come to see a failure, so that what it wants fails too: the same as if it had come a moment before.
FAIL = {_a_plan_and_the_failure_of_what_it_joins, _a_plan_and_a_failure_further_up}


@pytest.mark.parametrize("arrange", MEETINGS, ids=lambda arrange: arrange.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_each_partition_is_made_once_whoever_else_is_about(
    embedded_url: str, arrange: Arrange, swapped: bool
) -> None:
    for stop_before in range(STATEMENTS_MAX):
        with World(embedded_url) as world:
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
        test_each_partition_is_made_once_whoever_else_is_about(embedded_url, _two_plans_that_overlap, False)


def test_without_a_hold_on_what_is_joined_a_plan_waits_for_ever(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_HOLD", partitions._HOLD.replace(" FOR SHARE", ""))
    with pytest.raises(AssertionError):
        _meet_in_both_orders(
            embedded_url, _a_plan_and_a_cancellation, _a_plan_and_the_success_of_what_it_joins
        )


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
        with World(embedded_url) as world:
            _, claimed = _running(world)
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
            with World(embedded_url) as world:
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
