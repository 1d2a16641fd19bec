"""Dependency groups (gates) and dependencies (needs) of jobs, and the propagation of ended parents.

A job has a row for each gate and for each need. Counters of the gates hold how many needs are open. They change in two
ways: by a recount (``recount``) and by the propagation of ended parents (``propagate``). The full protocol is in
docs/ledger.md.

A waiting job keeps the needs it was planned with, even if its app's definition changes. When a submission requests it
again, it gets the needs of the current definition; a push is no such request. A job that was claimed keeps its needs
unless it is run again.

Invariants between transactions: ``gate.unmet`` is the number of the gate's needs that are not met, and
``gate.impossible`` the number that cannot be met any more. A need is settled if its parent has reached a state that
decides it, and this was propagated to the children. Most needs are decided by an end; a need with condition ``running``
is met by a start.

Lock order: parents' job rows, needs, gates, children's job rows, each in id order.

Race of a finishing parent against a plan for its child. ``recount`` locks the parents' rows FOR SHARE and reads their
states in a later statement. A transaction that ends a parent writes its row first, and reads the children in a later
statement (``propagate``). So at least one transaction sees the other. In a single statement with a common table
expression the read would use the older snapshot, and the child would wait indefinitely.

Race of two finishing parents: each settles its own needs. The gate's row lock orders the decrements, and the
transaction that brings the counter to zero opens the child. If an end is propagated twice, the second time settles
nothing.

A job whose end is still to be propagated is in the propagation outbox (``propagation_outbox``). A crash leaves its row
there, and the groomer repeats the propagation.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Self

from msgspec import Struct

from sluice.jobs.model.dependency import DEAD_FOR, MET
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob
from sluice.jobs.states import SPLIT, TERMINAL, By, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import HOLD_JOBS, NOW, estimated_as_one
from sluice.ledger.job_graph import priorities
from sluice.ledger.job_graph.readiness import MAY_BEGIN, READY_COLUMNS, ReadyJob, fail_upstream, open_gates
from sluice.ledger.job_graph.work_ids import is_divisible

#: Jobs per statement that writes needs. A single job may have a million needs.
BATCH = 5_000

_ENDED = sql_list(*sorted(TERMINAL))

_INSERT_GATES = """
INSERT INTO gate (child, gate, name, unmet, impossible)
SELECT child, gate, name, unmet, 0
FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(name)s::text[], %(unmet)s::int[])
     AS new (child, gate, name, unmet)
ON CONFLICT (child, gate) DO NOTHING
"""
_INSERT_NEEDS = """
INSERT INTO need (child, gate, parent, condition, added, met)
SELECT child, gate, parent, condition, added, nullif(met, false)
FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(parent)s::bigint[], %(condition)s::text[], %(added)s::bool[],
            %(met)s::bool[])
     AS new (child, gate, parent, condition, added, met)
ON CONFLICT (child, gate, parent) DO NOTHING
"""
_DISCOUNT = """
WITH held AS MATERIALIZED (
    SELECT child, gate, parent, claim
    FROM need JOIN unnest(%(child)s::bigint[], %(gate)s::int[], %(parent)s::bigint[], %(claim)s::bigint[])
         AS given (child, gate, parent, claim) USING (child, gate, parent)
    ORDER BY child, gate, parent FOR UPDATE OF need
)
UPDATE need SET stale_claim = held.claim
FROM held WHERE need.child = held.child AND need.gate = held.gate AND need.parent = held.parent
"""
_DIGESTS = "unnest(%(jobs)s::bigint[], %(digests)s::text[]) AS given (id, digest)"
# The states are in a CASE, so that no index of states answers it (see ``transitions.guard``).
_OUTDATED = f"""
SELECT job.id FROM job JOIN {estimated_as_one(_DIGESTS)} USING (id)
WHERE (job.digest IS DISTINCT FROM given.digest OR job.id = ANY(%(anyway)s::bigint[]))
  AND CASE WHEN job.state = '{State.WAITING}' AND job.id = ANY(%(asked)s::bigint[]) OR job.state = '{State.CANCELLED}'
      OR job.state IN ({_ENDED}) AND job.id = ANY(%(again)s::bigint[]) THEN true END
ORDER BY job.id
"""
# Needs, then gates, each in their own order, in the same way as a propagation locks them.
_HOLD_NEEDS = "SELECT child FROM need WHERE child = ANY(%(jobs)s) ORDER BY child, gate, parent FOR UPDATE"
_HOLD_GATES = "SELECT child FROM gate WHERE child = ANY(%(jobs)s) ORDER BY child, gate FOR UPDATE"
_DROP_NEEDS = "DELETE FROM need WHERE child = ANY(%(jobs)s)"
_DROP_GATES = "DELETE FROM gate WHERE child = ANY(%(jobs)s)"
_UPDATE_DIGESTS = (
    f"UPDATE job SET digest = given.digest FROM {estimated_as_one(_DIGESTS)} WHERE job.id = given.id"
)


def outdated(
    tx: Tx,
    jobs: Sequence[PlannedJob],
    ids: Mapping[JobName, int],
    *,
    asked: list[int],
    again: list[int],
    anyway: list[int],
) -> list[PlannedJob]:
    """Return the jobs that wait, or are about to, under an older definition than that of this plan, or ``anyway``.

    ``again`` are ended jobs that will be run again. A waiting job counts only if it was ``asked`` for. A push names
    parents without requesting them, so a job that was requested would wait for them indefinitely.
    """
    known = {ids[job.name]: job for job in jobs if job.digest is not None}
    if not known:
        return []
    digests = [job.digest for job in known.values()]
    return [
        known[id]
        for id in tx.column(
            _OUTDATED, jobs=list(known), digests=digests, asked=asked, again=again, anyway=anyway
        )
    ]


def replace(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Replace the needs of these jobs, which wait or are about to, by the needs of this plan."""
    if not jobs:
        return
    numbers = [ids[job.name] for job in jobs]
    lock_needs(tx, numbers)
    tx.write(_DROP_NEEDS, jobs=numbers)
    tx.write(_DROP_GATES, jobs=numbers)
    tx.write(_UPDATE_DIGESTS, jobs=numbers, digests=[job.digest for job in jobs])
    write(tx, jobs, ids)


def mark_stale(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Mark the needs that a success does not meet, because it is too old for these jobs.

    The jobs wait, or are about to, and must still be counted.
    """
    needs = [
        (ids[job.name], place, ids[need.parent], job.stale[need.parent])
        for job in jobs
        for place, gate in enumerate(job.gates)
        for need in gate.needs
        if job.discounts(need)
    ]
    if needs:
        tx.write(_DISCOUNT, **arrays(needs, "child", "gate", "parent", "claim"))


def write(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Write the gates and needs of jobs that have just been set waiting, as if no parent had ended yet, except for
    needs that the plan knows to be met."""
    for start in range(0, len(jobs), BATCH):
        _write(tx, jobs[start : start + BATCH], ids)


def _write(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    gates = [
        (ids[job.name], place, gate.name, len(gate.needs) - sum(map(job.meets, gate.needs)))
        for job in jobs
        for place, gate in enumerate(job.gates)
    ]
    if not gates:
        return
    tx.write(_INSERT_GATES, **arrays(gates, "child", "gate", "name", "unmet"))
    needs = [
        (ids[job.name], place, ids[need.parent], need.when, need.added, need.is_met and job.meets(need))
        for job in jobs
        for place, gate in enumerate(job.gates)
        for need in gate.needs
    ]
    if needs:
        tx.write(_INSERT_NEEDS, **arrays(needs, "child", "gate", "parent", "condition", "added", "met"))


_MET, _DEAD = (
    " OR ".join(
        f"need.condition = '{when}' AND parent.state IN ({sql_list(*sorted(states))})"
        for when, states in of_when.items()
        if states
    )
    for of_when in (MET, DEAD_FOR)
)
#: True if a parent has failed for good and is about to be split. Its failure has decided nothing.
UNSPLIT = f"(parent.{SPLIT.guard} AND {is_divisible('parent')})"
#: True if a parent's last success was too old when the child was planned. Such a success has decided nothing either.
OUTLIVED = f"(parent.state = '{State.SUCCEEDED}' AND parent.claim <= need.stale_claim)"
_TURNED = """
SELECT child FROM gate WHERE child = ANY(%(jobs)s) GROUP BY child
HAVING bool_or(impossible > 0) AND NOT bool_and(impossible > 0) AND NOT bool_or(unmet = 0)
"""
#: True if the child needs a running parent with unbounded work, and that parent is claimed but its work is not started,
#: or has just failed.
UNSTARTED = (
    "(need.condition = 'running' AND parent.unbounded AND parent.handle IS NULL"
    f" AND parent.state IN ({sql_list(State.RUNNING, State.EXECUTED)}))"
)
#: True if a parent's success adds jobs that are not planned yet. Until then it decides nothing, because a child may
#: need these jobs too.
EXPANDING = f"(parent.expansion = 'open' AND parent.state = '{State.SUCCEEDED}')"
#: Verdict of a parent's state on a need: true if it is met, false if it is dead, null if it is still open.
VERDICT = (
    f"(CASE WHEN {UNSPLIT} OR {OUTLIVED} OR {UNSTARTED} OR {EXPANDING} THEN NULL"
    f" WHEN {_MET} THEN true WHEN {_DEAD} THEN false END)"
)

_HOLD_PARENTS = """
SELECT id FROM job WHERE id IN (SELECT parent FROM need WHERE child = ANY(%(jobs)s)) ORDER BY id FOR SHARE
"""
_HOLD_UNSETTLED = f"""
SELECT need.child FROM need JOIN job parent ON parent.id = need.parent
WHERE need.child = ANY(%(jobs)s) AND need.met IS DISTINCT FROM {VERDICT}
ORDER BY need.child, need.gate, need.parent FOR UPDATE OF need
"""
# Needs before gates: the subquery is evaluated first.
_HOLD_UNSETTLED_AND_GATES = f"""
WITH held AS MATERIALIZED ({_HOLD_UNSETTLED})
SELECT child FROM gate WHERE (SELECT count(*) FROM held) >= 0 AND child = ANY(%(jobs)s) ORDER BY child, gate FOR UPDATE
"""
_SETTLE_FOR_CHILDREN = f"""
WITH held AS MATERIALIZED ({_HOLD_UNSETTLED})
UPDATE need SET met = {VERDICT}
FROM job parent
WHERE (SELECT count(*) FROM held) > 0
  AND need.child = ANY(%(jobs)s) AND parent.id = need.parent AND need.met IS DISTINCT FROM {VERDICT}
"""
_COUNT = """
UPDATE gate SET unmet = counted.unmet, impossible = counted.impossible
FROM (
    SELECT gate.child, gate.gate, count(need.parent) FILTER (WHERE need.met IS NOT TRUE) AS unmet,
           count(need.parent) FILTER (WHERE need.met IS FALSE) AS impossible
    FROM gate LEFT JOIN need USING (child, gate)
    WHERE gate.child = ANY(%(jobs)s) GROUP BY gate.child, gate.gate
) counted
WHERE gate.child = counted.child AND gate.gate = counted.gate
"""
# A CASE for the same reason as in ``transitions.guard``: otherwise each of 10,000 jobs is searched among all waiting
# jobs.
_OPEN = f"""
UPDATE job SET unblocked = counted.unblocked, waiting_for_slot = job.waiting_for_slot AND counted.unblocked
FROM (
    SELECT child, coalesce(bool_or(gate.unmet = 0), true) AS unblocked
    FROM unnest(%(jobs)s::bigint[]) AS given (child) LEFT JOIN gate USING (child) GROUP BY child
) counted
WHERE job.id = counted.child
  AND CASE WHEN job.state = '{State.WAITING}' THEN job.unblocked <> counted.unblocked AND NOT job.saga_open END
"""

# The parents' rows are locked before, so their states here are not older than the rows that this statement waits for.
# It locks needs, then gates, each in their own order. Locked needs are looked up again instead of joined: if a parent
# has 1,000 children, Postgres may search each of the 1,000 among all of them.
#: Statement that counts down the gates of the children of these jobs, which this transaction holds.
COUNT_DOWN = f"""
WITH held_need AS MATERIALIZED (
    SELECT child FROM need
    WHERE parent = ANY(%(jobs)s) AND met IS NULL ORDER BY child + 0, gate, parent FOR UPDATE
), decided AS (
    UPDATE need SET met = {VERDICT}
    FROM job parent
    WHERE (SELECT count(*) FROM held_need) > 0
      AND need.parent = ANY(%(jobs)s) AND parent.id = need.parent
      AND need.met IS NULL AND {VERDICT} IS NOT NULL
    RETURNING need.child, need.gate, need.met
), touched AS MATERIALIZED (
    SELECT child, gate, count(*) FILTER (WHERE met) AS met, count(*) FILTER (WHERE NOT met) AS died
    FROM decided GROUP BY child, gate
), held_gate AS MATERIALIZED (
    SELECT gate.child, gate.gate, touched.met, touched.died FROM gate JOIN touched USING (child, gate)
    ORDER BY gate.child, gate.gate FOR UPDATE OF gate
)
UPDATE gate SET unmet = gate.unmet - held.met, impossible = gate.impossible + held.died
FROM held_gate held JOIN job ON job.id = held.child
WHERE gate.child = held.child AND gate.gate = held.gate
RETURNING gate.unmet = 0 AS is_open, held.died > 0 AS has_lost, {MAY_BEGIN} AS may_begin, {READY_COLUMNS}
"""
# A need for a running parent is left as it is, because it stays met once it is met. The needs of a child with an open
# flight are left too, because ends are not propagated to it.
_UNTELL = """
UPDATE need SET met = NULL FROM job child
WHERE need.child = ANY(%(jobs)s) AND child.id = need.child AND NOT child.saga_open AND need.condition <> 'running'
"""
_STILL_TO_TELL = f"""
SELECT DISTINCT parent.id FROM need JOIN job parent ON parent.id = need.parent
WHERE need.child = ANY(%(jobs)s) AND need.met IS NULL AND {VERDICT} IS NOT NULL
"""
_EXPANDING_PARENTS = f"""
SELECT DISTINCT parent.id FROM need JOIN job parent ON parent.id = need.parent
WHERE need.child = ANY(%(jobs)s) AND {EXPANDING}
"""
_HOLD_ENDED = f"""
SELECT id, coalesce({EXPANDING}, false) FROM job parent WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE
"""
_HOLD_WAITING = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.WAITING}' ORDER BY id FOR UPDATE
"""

_ADD_TO_OUTBOX = f"""
INSERT INTO propagation_outbox (job, since) SELECT unnest(%(jobs)s::bigint[]), {NOW} ON CONFLICT (job) DO NOTHING
"""
_REMOVE_FROM_OUTBOX = "DELETE FROM propagation_outbox WHERE job = ANY(%(jobs)s)"


class Propagated(NamedTuple):
    """Result of a propagation.

    ``ready`` jobs may run now. ``startable`` jobs may too, but wait still: the caller claims them, or makes them ready.
    ``turned`` jobs lost a gate and have another one; its parents must still be requested.
    ``upstream_failed`` jobs have ended by this, each with its app. Their ends are already propagated to existing
    children. Children that follow from such an end must still be planned.
    """

    ready: list[ReadyJob]
    turned: list[int]
    upstream_failed: Mapping[int, str]
    startable: Sequence[ReadyJob] = ()


class CountedGate(Struct, frozen=True):
    """Row of ``COUNT_DOWN``: a gate that was counted down, and its job."""

    is_open: bool
    has_lost: bool
    may_begin: bool
    id: int
    app: str
    round: int
    priority: int
    effective_deadline: datetime | None
    due_at: datetime
    alone: bool
    not_before: datetime | None

    @property
    def job(self) -> ReadyJob:
        return ReadyJob(
            self.id,
            self.app,
            self.round,
            self.priority,
            self.effective_deadline,
            self.due_at,
            self.alone,
            self.not_before,
        )


class CountedChildren(NamedTuple):
    """Children with a gate that was counted down, by id.

    ``opened`` have a gate that is met, ``died`` have lost a gate. ``startable`` are the opened jobs that may start now.
    """

    opened: set[int]
    died: set[int]
    startable: dict[int, ReadyJob]

    @classmethod
    def of(cls, gates: Sequence[CountedGate]) -> Self | None:
        """Return the children with these gates; None if there are none."""
        if not gates:
            return None
        return cls(
            {gate.id for gate in gates if gate.is_open},
            {gate.id for gate in gates if gate.has_lost},
            {gate.id: gate.job for gate in gates if gate.is_open and gate.may_begin},
        )


def recount(tx: Tx, children: list[int]) -> None:
    """Set all counters of these jobs' gates from the states of their parents, regardless of old values."""
    if not children:
        return
    tx.rows(_HOLD_PARENTS, jobs=children)
    tx.write(_SETTLE_FOR_CHILDREN, jobs=children)
    tx.rows(_HOLD_GATES, jobs=children)
    count(tx, children)


def count(tx: Tx, children: list[int]) -> None:
    """Set all counters of these jobs' gates from their needs as they are. The caller has locked the gates."""
    tx.write(_COUNT, jobs=children)
    tx.write(_OPEN, jobs=children)


def lock_needs(tx: Tx, children: list[int]) -> None:
    """Lock the needs of these jobs, and then their gates."""
    tx.rows(_HOLD_NEEDS, jobs=children)
    tx.rows(_HOLD_GATES, jobs=children)


def reset(tx: Tx, children: list[int]) -> list[int]:
    """Count the gates of these jobs again; return the parents with an end that must be propagated to them.

    The needs of waiting jobs are reset first, as if no end had been propagated to them.
    """
    tx.rows(_HOLD_PARENTS, jobs=children)
    lock_needs(tx, children)
    tx.write(_UNTELL, jobs=tx.column(_HOLD_WAITING, jobs=children))
    count(tx, children)
    return tx.column(_STILL_TO_TELL, jobs=children)


def lock_waiting(tx: Tx, children: list[int]) -> list[int]:
    """Return the waiting jobs among the children, locked so that none begins before this transaction ends.

    A concurrent propagation from another parent has finished before this reads, or comes after this transaction.
    """
    if not children:
        return []
    tx.rows(_HOLD_PARENTS, jobs=children)
    tx.rows(_HOLD_UNSETTLED_AND_GATES, jobs=children)
    return tx.column(_HOLD_WAITING, jobs=children)


def turned(tx: Tx, jobs: list[int]) -> list[int]:
    """Return the jobs among these, all waiting, that cannot start by one gate but still by another one. The parents of
    that one may not be requested yet."""
    return tx.column(_TURNED, jobs=jobs) if jobs else []


def reblock(tx: Tx, jobs: list[int]) -> Propagated:
    """Apply the gates of jobs that wait after a flight again, and return the consequences.

    During the flight the ends of their parents did not matter. This transaction holds the jobs' rows. A concurrent
    transaction that counts down a gate has finished before this reads, or reads the job after it.
    """
    return after_recount(tx, tx.column(f"{_OPEN} RETURNING job.id", jobs=jobs) if jobs else [])


def after_recount(tx: Tx, waiting: list[int]) -> Propagated:
    """Let these waiting jobs, which a recount may have blocked, lend their urgency, and end those that cannot start any
    more. Return the consequences; the ends must be propagated."""
    priorities.lend(tx, waiting)
    ended = fail_upstream(tx, waiting)
    return Propagated([], turned(tx, [job for job in waiting if job not in ended]), ended)


def lock_ended(tx: Tx, ended: list[int]) -> list[int]:
    """Lock the ended jobs (FOR SHARE) before propagating them, so that no concurrent rerun revives them in between.
    Return the jobs among them whose expansions must be planned."""
    return [id for id, is_expanding in tx.rows(_HOLD_ENDED, jobs=ended) if is_expanding]


def propagate(tx: Tx, ended: list[int], *, leave_startable: bool = False) -> Propagated:
    """Propagate ended jobs, which this transaction holds, to their children, and return the consequences.

    Children that end by this are propagated too, to any depth. Each iteration of the loop ends jobs that had not ended
    before, so the loop is bounded by the graph. With ``leave_startable``, jobs that may start now are returned as
    ``startable``, and they are locked.
    """
    counted = _count_down(tx, ended) if ended else None
    return propagate_counted(tx, counted, leave_startable=leave_startable)


def propagate_counted(tx: Tx, children: CountedChildren | None, *, leave_startable: bool) -> Propagated:
    """Do what ``propagate`` does after the gates of the children have been counted down."""
    ready: list[ReadyJob] = []
    turned: list[int] = []
    upstream_failed: dict[int, str] = {}
    startable: dict[int, ReadyJob] = {}
    while children:
        opened, died = sorted(children.opened), sorted(children.died)
        if opened and (died or (leave_startable and len(opened) > 1)):
            tx.rows(HOLD_JOBS, jobs=sorted({*opened, *died}))
        if leave_startable:
            startable |= children.startable
        ready += open_gates(tx, By.PLANNER, [job for job in opened if job not in startable])
        last = fail_upstream(tx, died)
        upstream_failed |= last
        turned += sorted(set(died) - set(last) - set(opened))
        children = _count_down(tx, list(last)) if last else None
    return Propagated(ready, turned, upstream_failed, tuple(startable.values()))


def together(parts: Sequence[Propagated]) -> Propagated:
    """Return the results of several propagations in one transaction as one."""
    return Propagated(
        [job for part in parts for job in part.ready],
        [job for part in parts for job in part.turned],
        {job: app for part in parts for job, app in part.upstream_failed.items()},
        [job for part in parts for job in part.startable],
    )


def add_to_outbox(tx: Tx, ended: list[int]) -> None:
    """Add these ended jobs to the propagation outbox."""
    if ended:
        tx.write(_ADD_TO_OUTBOX, jobs=ended)


def put_back_expanding(tx: Tx, children: list[int]) -> None:
    """Add the parents of these jobs, which wait again, to the outbox, if their added jobs are not planned yet. Nothing
    may have requested such a parent before. A recount has locked the parents."""
    if children:
        add_to_outbox(tx, tx.column(_EXPANDING_PARENTS, jobs=children))


def remove_from_outbox(tx: Tx, ended: list[int]) -> None:
    """Remove these jobs from the propagation outbox, because their ends have been propagated."""
    if ended:
        tx.write(_REMOVE_FROM_OUTBOX, jobs=ended)


def _count_down(tx: Tx, ended: list[int]) -> CountedChildren | None:
    """Count down the gates of the children of these jobs; None if no gate has changed."""
    return CountedChildren.of([CountedGate(*row) for row in tx.rows(COUNT_DOWN, jobs=ended)])
