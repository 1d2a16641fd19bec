"""Pairs of concurrent acts, each on a prepared ledger: a plan for partitions, and another operation."""

from collections.abc import Callable
from typing import Any

import msgspec

from sluice.actors.executor import transactions
from sluice.actors.planner import handlers, landed_partitions, pauses
from sluice.broker.messages import Cancel, Execute, Executed, JobRound, Landed, Pause, Submit
from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.database.connection import Ledger
from sluice.ledger.keyspaces import partitions
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger.lineages import acknowledge, ask, days, lineage, named, take, work_off
from tests.world import World, taken_in

Act = Callable[[Ledger], Any]
Arrange = Callable[[World], tuple[Act, Act]]
LINEAGE = lineage("s, g*2: s, j: g", max_fails=1)
G = "g/2024-04-01..2024-04-02"
SPAN = days("2024-04-01", "2024-04-03")


def plan(world: World, app: str, first: str, last: str, **words: object) -> Act:
    request = msgspec.json.encode({"app": app, "start": first, "end": last, **words})
    message = Submit(id=f"{app} {first} {last}", submission=msgspec.Raw(request))
    return lambda ledger: taken_in(ledger, world.catalogue, message)


def cancel(world: World, id_: str) -> Act:
    return lambda ledger: list(handlers.cancel(ledger, world.catalogue, Cancel(submission=id_)))


def record(world: World, claimed: ClaimedJob, ending: Ending = Ending.DONE) -> Act:
    """Return an act that records the outcome of a claim and judges it."""

    def act(ledger: Ledger) -> list[Any]:
        messages, _ = transactions.record(ledger, {claimed.right: Outcome(ending=ending)})
        judged = handlers.executed(ledger, world.catalogue, Executed(jobs=(claimed.id,)))
        return [*messages, *judged]

    return act


def land(world: World, table: str, *texts: str, again: bool = False) -> Act:
    message = Landed(table=table, partitions=texts, again=again)
    return lambda ledger: list(landed_partitions.landed(ledger, world.catalogue, message))


def running(world: World) -> tuple[str, ClaimedJob]:
    """Submit ``j`` and claim the step of ``g`` that it needs. Return the submission's id and the claim."""
    world.define(LINEAGE)
    id_ = ask(world, "j", "2024-04-01", "2024-04-02")
    work_off(world, only="s/")
    return id_, take(world, G)


def two_plans_that_overlap(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    return plan(world, "j", "2024-04-01", "2024-04-02"), plan(world, "j", "2024-04-02", "2024-04-03")


def two_plans_for_tables_of_one_lineage(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    return plan(world, "s", "2024-04-01", "2024-04-03"), plan(world, "j", "2024-04-01", "2024-04-03")


def a_plan_and_the_success_of_the_joined_job(world: World) -> tuple[Act, Act]:
    _, claimed = running(world)
    return plan(world, "j", "2024-04-01", "2024-04-03"), record(world, claimed)


def a_plan_and_the_failure_of_the_joined_job(world: World) -> tuple[Act, Act]:
    world.define(lineage("s, g*2: s, j: g"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    work_off(world, only="s/")
    claimed = take(world, G)
    return plan(world, "j", "2024-04-01", "2024-04-03"), record(world, claimed, Ending.ERROR)


def a_plan_and_a_failure_further_up(world: World) -> tuple[Act, Act]:
    world.define(lineage("s, g*2: s, j: g"))
    ask(world, "g", "2024-04-01", "2024-04-02")
    return (
        plan(world, "j", "2024-04-01", "2024-04-03"),
        record(world, take(world, "s/2024-04-02"), Ending.ERROR),
    )


def a_plan_and_another_round_of_the_joined_job(world: World) -> tuple[Act, Act]:
    _, claimed = running(world)
    return plan(world, "j", "2024-04-01", "2024-04-03"), record(world, claimed, Ending.ERROR)


def a_plan_and_a_cancellation(world: World) -> tuple[Act, Act]:
    id_, _ = running(world)
    return plan(world, "j", "2024-04-01", "2024-04-03"), cancel(world, id_)


def a_plan_and_a_cancellation_while_the_inputs_wait(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    id_ = ask(world, "g", "2024-04-01", "2024-04-03")
    return plan(world, "j", "2024-04-01", "2024-04-03"), cancel(world, id_)


def a_plan_and_a_landing(world: World) -> tuple[Act, Act]:
    world.define(lineage("g*2: s, j: g"))
    world.land("s", "2024-04-01", "2024-04-03")
    return plan(world, "j", "2024-04-01", "2024-04-03"), land(world, "s", "2024-04-02")


def a_plan_and_a_landing_of_its_partitions(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    return plan(world, "j", "2024-04-01", "2024-04-03"), land(world, "g", "2024-04-02..2024-04-03")


def a_plan_and_a_pause(world: World) -> tuple[Act, Act]:
    world.define(LINEAGE)
    id_ = ask(world, "g", "2024-04-01", "2024-04-02")
    return (
        plan(world, "j", "2024-04-01", "2024-04-03"),
        lambda ledger: list(pauses.pause(ledger, world.catalogue, Pause(submission=id_))),
    )


def a_plan_and_an_acknowledgement(world: World) -> tuple[Act, Act]:
    _, claimed = running(world)
    day = SPAN[1]
    number = world.catalogue["g"].partitioning.calendar.read(day)

    def act(ledger: Ledger) -> list[Any]:
        assert ledger.transact(lambda tx: partitions.acknowledge(tx, claimed.right, number))
        return []

    return plan(world, "j", "2024-04-01", "2024-04-03"), act


def a_plan_to_make_anew_and_the_end_of_a_step_that_has_made_all(world: World) -> tuple[Act, Act]:
    _, claimed = running(world)
    acknowledge(world, claimed, *SPAN[:2])
    return plan(world, "g", "2024-04-01", "2024-04-02", rerun="job"), record(world, claimed)


def ready_to_read(world: World) -> None:
    """Submit ``j``, and make the step of ``g`` ready that reads two landed partitions of an external table."""
    world.define(lineage("g*2: s, j: g", max_fails=1))
    world.land("s", "2024-04-01..2024-04-02")
    ask(world, "j", "2024-04-01", "2024-04-02")


def a_landing_again_and_the_success_of_a_reader(world: World) -> tuple[Act, Act]:
    ready_to_read(world)
    return land(world, "s", "2024-04-01..2024-04-02", again=True), record(world, take(world, G))


def a_landing_again_and_the_claim_of_a_reader(world: World) -> tuple[Act, Act]:
    ready_to_read(world)
    job = world.known(named(world, G))
    message = Execute(app="g", jobs=(JobRound(job.id, 0),))
    return (
        land(world, "s", "2024-04-01..2024-04-02", again=True),
        lambda ledger: transactions.claim(ledger, world.catalogue, message, world.worker)[1],
    )


def a_landing_again_and_a_plan_that_joins_a_reader(world: World) -> tuple[Act, Act]:
    world.define(lineage("g*2: s, j: g", max_fails=1))
    world.land("s", "2024-04-01..2024-04-03")
    ask(world, "g", "2024-04-01", "2024-04-02")
    take(world, G)
    return (
        land(world, "s", "2024-04-01..2024-04-02", again=True),
        plan(world, "j", "2024-04-01", "2024-04-03"),
    )


MEETINGS: list[Arrange] = [
    two_plans_that_overlap,
    two_plans_for_tables_of_one_lineage,
    a_plan_and_the_success_of_the_joined_job,
    a_plan_and_the_failure_of_the_joined_job,
    a_plan_and_a_failure_further_up,
    a_plan_and_another_round_of_the_joined_job,
    a_plan_and_a_cancellation,
    a_plan_and_a_cancellation_while_the_inputs_wait,
    a_plan_and_a_landing,
    a_plan_and_a_landing_of_its_partitions,
    a_plan_and_a_pause,
    a_plan_and_an_acknowledgement,
    a_plan_to_make_anew_and_the_end_of_a_step_that_has_made_all,
    a_landing_again_and_the_success_of_a_reader,
    a_landing_again_and_the_claim_of_a_reader,
    a_landing_again_and_a_plan_that_joins_a_reader,
]
#: Pairs after which the partitions of ``g`` are stale: its step began before its input landed again.
STALE = {a_landing_again_and_the_success_of_a_reader}
#: Apps that may make partitions a second time, by pair.
TWICE = {a_plan_to_make_anew_and_the_end_of_a_step_that_has_made_all: {"g"}}
#: Pairs in which the planned step may fail, because the plan may see a failure. A plan a moment earlier would have
#: had the same outcome.
FAIL = {a_plan_and_the_failure_of_the_joined_job, a_plan_and_a_failure_further_up}
