"""Guards that a test can break, by the effect of breaking them. Guards of sagas are in ``guards_of_sagas.py``, those of
notifications in ``guards_of_notifications.py``, those of removals in ``guards_of_removals.py``, and those of jobs that
read tables, and of slices, in ``guards_of_tables.py``."""

from itertools import islice

import pytest

from sluice.actors.planner import daily_tables as planner_of_days
from sluice.actors.planner import handlers, table_plans
from sluice.jobs.simulated import Faults
from sluice.jobs.states import LIVE, sql_list
from sluice.ledger.job_graph import demand, dependencies, expansions
from sluice.ledger.keyspaces import daily_tables, freshness, partitions
from sluice.ledger.lifecycle import bisection, claims, outcomes, plain_successes, plans
from sluice.ledger.limits import breakers, pauses
from sluice.ledger.recovery import groomer_steps, leases
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from tests.simulation import (
    guards_of_chunk_readers,
    guards_of_notifications,
    guards_of_removals,
    guards_of_sagas,
    guards_of_tables,
)
from tests.simulation.environment import Ground
from tests.simulation.mutants import Break, Mutant, both, code, no_effect, sql
from tests.simulation.run import Violation

#: Processes that crash, and no other faults.
DEADLY = Faults(crash_before_commit=0.15)
#: Messages and replies that are lost.
LOSSES = Faults(lose=0.4, crash_after_commit=0.1)
#: The groomer repeats a lost notification neither after its pause, nor when workers of its app are idle or have room.
NO_REPETITION = both(
    code(groomer_steps, "announce_ready", lambda tx, limit, apps: []),
    both(
        code(groomer_steps, "announce_idle", lambda tx, limit, apps: []),
        code(groomer_steps, "announce_first", lambda tx, apps: []),
    ),
)


_ALL_OF_DAY = DailyJobs._on


def _of_days(apply: Break, first: int = 0) -> Mutant:
    return Mutant(apply, first=first, theme="partitions")


_OF_JOBS = {
    "a late worker's result is taken": Mutant(
        sql(outcomes, "_RECORD", "job.claim = given.claim", "true"),
        theme="templates",
        faults=Faults(freeze_worker_every_s=2.0, lose=0.2),
        first=30,
    ),
    "a late worker's success is taken": Mutant(
        sql(plain_successes, "_FINISH", "job.claim = given.claim", "true"),
        theme="templates",
        faults=Faults(freeze_worker_every_s=2.0, lose=0.2),
        first=30,
    ),
    "a success is not propagated": Mutant(
        sql(dependencies, "COUNT_DOWN", "(SELECT count(*) FROM held_need) > 0", "false"),
        theme="templates",
        first=1,
    ),
    "lost notifications are not repeated": Mutant(NO_REPETITION, theme="templates", faults=LOSSES),
    "lost leases are not noticed": Mutant(
        sql(groomer_steps, "_LOST", "worker.lease_until <", "false AND now() <"),
        theme="templates",
        faults=DEADLY,
    ),
    "any request of a submission counts as one of the child": Mutant(
        sql(demand, "AFFECTED", "child.key = pushed.key", "true"), theme="templates"
    ),
    "outcomes of parents are not put in the outbox": Mutant(
        code(dependencies, "_ADD_TO_OUTBOX", "SELECT 1 WHERE false"),
        theme="templates",
        faults=DEADLY,
        first=6,
    ),
    "one parent opens the gate": Mutant(
        sql(dependencies, "COUNT_DOWN", "gate.unmet = 0 AS", "gate.unmet >= 0 AS"),
        theme="templates",
        first=4,
    ),
    "planning does not count finished parents": Mutant(
        code(plans.dependencies, "recount", lambda tx, children: None), theme="templates", first=1
    ),
    "claims of a lost reply are not taken back": Mutant(
        code(leases, "strays", lambda tx, id, known, *, grace_s: []),
        theme="templates",
        faults=Faults(repeat_commit=0.1),
    ),
    "waiting jobs do not lend their priority to parents": Mutant(
        code(plans.priorities, "lend", lambda tx, jobs: None), theme="templates", first=4
    ),
    "a parent requested late gets no priority from its waiting children": Mutant(
        code(plans.priorities, "_WAIT_ALREADY", "SELECT 1 WHERE false"), theme="templates", first=53
    ),
    "unwanted jobs are not cancelled": Mutant(
        code(handlers.submissions, "_CANCEL_UNWANTED", "SELECT 1 WHERE false"), theme="templates", first=26
    ),
    "an open breaker holds back no jobs": Mutant(
        sql(claims, "_CLAIM", "app_pause.app = job.app", "app_pause.app = ''"),
        theme="breakers",
    ),
    "a breaker tries no jobs": Mutant(code(breakers, "_choose", lambda tx, app: []), theme="breakers"),
    "a pause does not hold back ready jobs": Mutant(
        code(pauses, "_HOLD_BACK_READY", "SELECT 1 WHERE false"), theme="templates", first=4
    ),
    "a pause does not hold back jobs that are planned later": Mutant(
        code(pauses, "apply", lambda tx, jobs: []), theme="templates", first=7
    ),
    "planning ignores chunks in progress": Mutant(
        code(freshness.FreshnessFacts, "busy", lambda past, apps: []), theme="chunks", first=12
    ),
    "successes of chunks are not recorded as fresh": Mutant(no_effect("is_chunk"), theme="chunks"),
    "submissions that wait to be planned are forgotten": Mutant(
        sql(groomer_steps, "_UNPLANNED_IN_NO_HAND", "next_plan_at <=", "false AND next_plan_at <="),
        theme="chunks",
        first=1,
    ),
    "halves of a split chunk belong to no submission": Mutant(
        code(bisection, "_COPY_WANTS", "SELECT 1 WHERE false"), theme="chunks", first=3
    ),
    "failed chunks are not split": Mutant(
        code(bisection, "_SPLIT", "SELECT 1, '', '[]' WHERE false"), theme="chunks", first=3
    ),
    "planning ignores partitions in progress": Mutant(
        sql(partitions, "_HELD", f"THEN job.state IN ({sql_list(*sorted(LIVE))})", "THEN false"),
        theme="partitions",
        first=1,
    ),
    "partitions of a succeeded step are not recorded": Mutant(
        no_effect("is_step"), theme="partitions", first=1
    ),
    "a landing does not make waiting jobs ready": Mutant(
        code(partitions, "land_jobs", lambda tx, jobs: []), theme="partitions", first=8
    ),
    "a plan ignores the inputs of steps": Mutant(
        code(Layout, "gates", lambda layout, app, step: ()), theme="partitions", first=2
    ),
    "days of jobs with keys are not recorded": _of_days(
        code(handlers, "record_days", lambda tx, catalogue, ended: [])
    ),
    "a day with a missing job is recorded": _of_days(
        sql(daily_tables, "_DAYS", "count(*) = count(job.id)", "count(job.id) > 0")
    ),
    "new contents of a day make nothing stale": _of_days(
        code(planner_of_days, "_mark_stale", lambda tx, catalogue, table, day: None), first=19
    ),
    "what was made before the new contents of a day is current": _of_days(
        sql(daily_tables, "_EXISTING", f"{daily_tables._BEGUN} >= %(since)s", "true"), first=19
    ),
    "what was made after the new contents of a day is stale": _of_days(
        sql(daily_tables, "_EXISTING", f"{daily_tables._BEGUN} >= %(since)s", "false"), first=19
    ),
    "a day has only its first job": _of_days(
        code(DailyJobs, "_on", lambda jobs, text: islice(_ALL_OF_DAY(jobs, text), 1))
    ),
    "a step that needs a failed job waits": _of_days(
        code(table_plans, "_fail_upstream", lambda tx, steps: dependencies.propagate(tx, [])), first=10
    ),
    "a success decides needs before its jobs are planned": Mutant(
        both(
            sql(dependencies, "COUNT_DOWN", dependencies.EXPANDING, "false"),
            sql(dependencies, "_SETTLE_FOR_CHILDREN", dependencies.EXPANDING, "false"),
        ),
        theme="expansions",
    ),
    "an expansion is forgotten if its planner dies": Mutant(
        code(dependencies, "lock_ended", lambda tx, ended: []), theme="expansions", faults=DEADLY
    ),
    "jobs of an earlier expansion are kept": Mutant(
        code(expansions, "_DETACH", "SELECT %(jobs)s::bigint[], %(parents)s::bigint[]"), theme="expansions"
    ),
    "a submission of a last job does not request its parts": Mutant(
        code(expansions, "lacking_requests", lambda tx, jobs: []), theme="expansions"
    ),
    "skipped and failed parents are forgotten": Mutant(
        code(dependencies, "fail_upstream", lambda tx, jobs: {}), theme="templates", first=7
    ),
}

#: All guards, by the effect of breaking them.
GUARDS = (
    _OF_JOBS
    | guards_of_sagas.MUTANTS
    | guards_of_notifications.MUTANTS
    | guards_of_chunk_readers.MUTANTS
    | guards_of_tables.MUTANTS
    | guards_of_removals.MUTANTS
)


def assert_noticed(guard: str, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break this guard and run worlds until one violates an invariant."""
    GUARDS[guard].apply(monkeypatch)
    with pytest.raises(Violation, match=r"replay: python -m tests\.simulation --seed") as noticed:
        GUARDS[guard].show(ground)
    # A mutant that cannot even be called would fail at once, and prove nothing about the simulation.
    assert not isinstance(noticed.value.__cause__, TypeError)
