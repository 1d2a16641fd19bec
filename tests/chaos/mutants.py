"""Guards that are broken on purpose, to test the checker and the chaos run.

``python -m tests.chaos.mutants NAME -- --queues …`` starts a worker without a guard. The checker or the chaos
run must notice it. Most guards have a tale in ``scenarios`` that shows the fault at once. A chaos run shows
some of them too, within its first minute.

Some faults are not listed, because they have no consequence: a notification that is sent before its transaction is
committed, that is acknowledged before its jobs are claimed, or that is lost. A notification only triggers a look-up,
which the groomer makes in any case. A message with a submission is different, so its early acknowledgement is
listed.
"""

import sys
from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec import Struct

from sluice.actors.worker import command
from sluice.broker.consumer.service import Service
from sluice.broker.delivery import Delivery
from sluice.broker.messages import Message
from sluice.jobs.observe.failpoints import CrashOrder, Failpoint
from sluice.ledger.job_graph import dependencies
from sluice.ledger.lifecycle import plans
from sluice.ledger.recovery import groomer_steps
from tests.chaos import scenarios
from tests.chaos.checker import Rule
from tests.chaos.rules import claims, jobs, order, sagas, submissions
from tests.chaos.scenarios import Tale
from tests.simulation.guards import GUARDS
from tests.simulation.mutants import Break, code, sql


class Broken(Struct, frozen=True, kw_only=True):
    """A missing guard, the rule that this breaks, and the tale that shows it.

    ``in_chaos`` has the rules that a run breaks without it; a run must report at least one. If the guard only matters
    when a worker dies at one place, each worker of the run dies at ``dying_at``.
    """

    apply: Break
    rule: Rule
    tale: Tale | None = None
    in_chaos: tuple[Rule, ...] = ()
    dying_at: CrashOrder | None = None


def _also_simulated(name: str, rule: Rule, tale: Tale, *in_chaos: Rule) -> dict[str, Broken]:
    """Return a guard that the simulation breaks as well, under the same name."""
    return {name: Broken(apply=GUARDS[name].apply, rule=rule, tale=tale, in_chaos=in_chaos)}


def _unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    code(dependencies, "_HOLD_PARENTS", "SELECT 1 WHERE %(jobs)s::bigint[] IS NOT NULL")(monkeypatch)
    sql(plans, "_HOLD", " FOR SHARE", "")(monkeypatch)


def _acknowledging_first(run: Callable[[Service, Message, Delivery], None]) -> Break:
    def first(service: Service, message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        run(service, message, delivery)

    return code(Service, "run", first)


BROKEN: Mapping[str, Broken] = {
    **_also_simulated(
        "a late worker's success is taken",
        claims.succeeded_jobs_were_done,
        scenarios.late_with_a_success,
    ),
    **_also_simulated(
        "a late worker's result is taken",
        jobs.nothing_is_under_way,
        scenarios.late_with_an_error,
    ),
    **_also_simulated(
        "one parent opens the gate",
        order.children_begin_after_their_parents_are_done,
        scenarios.two_parents,
        order.children_begin_after_their_parents_are_done,
    ),
    **_also_simulated("lost leases are not noticed", jobs.every_job_has_ended, scenarios.a_worker_that_dies),
    **_also_simulated(
        "unwanted jobs are not cancelled",
        submissions.unwanted_jobs_are_not_begun,
        scenarios.cancelled_in_line,
    ),
    **_also_simulated(
        "a late worker writes the journal",
        sagas.journals_are_written_under_the_current_claim,
        scenarios.one_flight_and_two_workers,
    ),
    **_also_simulated(
        "a success is not propagated",
        jobs.every_job_has_ended,
        scenarios.two_parents,
        jobs.the_ledger_agrees_with_itself,
    ),
    "lost messages to the planner are not repeated": Broken(
        apply=code(groomer_steps, "announce_executed", lambda *_, **__: []),
        rule=jobs.every_job_has_ended,
        tale=scenarios.a_hint_that_is_lost,
    ),
    "planning does not lock the rows that it reads": Broken(
        apply=_unlocked, rule=jobs.every_job_has_ended, tale=scenarios.a_plan_against_a_parents_end
    ),
    "a message is acknowledged before it is processed": Broken(
        apply=_acknowledging_first(Service.run),
        rule=submissions.accepted_submissions_are_there,
        in_chaos=(submissions.accepted_submissions_are_there,),
        dying_at=CrashOrder(Failpoint.SUBMIT_WRITTEN, 3),
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Run a worker with this guard broken in all its processes, which dramatiq's supervisor forks."""
    if len(arguments) < 2 or arguments[0] not in BROKEN or arguments[1] != "--":
        known = "\n".join(f"  {name}" for name in BROKEN)
        sys.stderr.write(f"Usage: python -m tests.chaos.mutants NAME -- WORKER_OPTIONS. Names:\n{known}\n")
        return 2
    with pytest.MonkeyPatch.context() as monkeypatch:
        broken = BROKEN[arguments[0]]
        broken.apply(monkeypatch)
        if crash := broken.dying_at:
            monkeypatch.setenv("SLUICE_FAILPOINT", f"{crash.place.word}@{crash.time}")
        return command.main(arguments[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
