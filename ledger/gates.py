"""Dependencies of jobs as rows: their dependency groups (gates), and the dependencies (needs) in each group.

A waiting job keeps the needs it was planned with, even if its app's definition changes. When a submission requests it
again, it gets the needs of the current definition; a push is no such request. A job that was claimed keeps its needs
unless it is run again.
"""

from collections.abc import Mapping, Sequence

from sluice.jobs.plan import PlannedJob
from sluice.jobs.ref import JobName
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.connection import Tx, arrays

#: Jobs per statement that writes needs. A single job may have a million needs.
BATCH = 5_000

_ENDED = sql_list(*sorted(TERMINAL))

_INSERT_GATES = """
INSERT INTO gate (child, gate, name, unmet, dead)
SELECT child, gate, name, unmet, 0
FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(name)s::text[], %(unmet)s::int[])
     AS new (child, gate, name, unmet)
ON CONFLICT (child, gate) DO NOTHING
"""
_INSERT_NEEDS = """
INSERT INTO need (child, gate, parent, condition)
SELECT child, gate, parent, condition
FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(parent)s::bigint[], %(condition)s::text[])
     AS new (child, gate, parent, condition)
ON CONFLICT (child, gate, parent) DO NOTHING
"""
_DISCOUNT = """
WITH held AS MATERIALIZED (
    SELECT child, gate, parent, claim
    FROM need JOIN unnest(%(child)s::bigint[], %(gate)s::int[], %(parent)s::bigint[], %(claim)s::bigint[])
         AS given (child, gate, parent, claim) USING (child, gate, parent)
    ORDER BY child, gate, parent FOR UPDATE OF need
)
UPDATE need SET outlived = held.claim
FROM held WHERE need.child = held.child AND need.gate = held.gate AND need.parent = held.parent
"""
_OUTDATED = f"""
SELECT job.id FROM job JOIN unnest(%(jobs)s::bigint[], %(digests)s::text[]) AS given (id, digest) USING (id)
WHERE job.digest IS DISTINCT FROM given.digest
  AND (job.state = '{State.WAITING}' AND job.id = ANY(%(asked)s::bigint[]) OR job.state = '{State.CANCELLED}'
       OR job.state IN ({_ENDED}) AND job.id = ANY(%(again)s::bigint[]))
ORDER BY job.id
"""
# Needs, then gates, each in their own order, in the same way as a propagation locks them.
_HOLD_NEEDS = "SELECT child FROM need WHERE child = ANY(%(jobs)s) ORDER BY child, gate, parent FOR UPDATE"
_HOLD_GATES = "SELECT child FROM gate WHERE child = ANY(%(jobs)s) ORDER BY child, gate FOR UPDATE"
_DROP_NEEDS = "DELETE FROM need WHERE child = ANY(%(jobs)s)"
_DROP_GATES = "DELETE FROM gate WHERE child = ANY(%(jobs)s)"
_UPDATE_DIGESTS = """
UPDATE job SET digest = given.digest
FROM unnest(%(jobs)s::bigint[], %(digests)s::text[]) AS given (id, digest) WHERE job.id = given.id
"""


def outdated(
    tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int], *, asked: list[int], again: list[int]
) -> list[PlannedJob]:
    """Return the jobs that wait, or are about to, under an older definition than that of this plan.

    ``again`` are ended jobs that will be run again. A waiting job counts only if it was ``asked`` for. A push names
    parents without requesting them, so a job that was requested would wait for them indefinitely.
    """
    known = {ids[job.name]: job for job in jobs if job.digest is not None}
    if not known:
        return []
    digests = [job.digest for job in known.values()]
    return [
        known[id] for id in tx.column(_OUTDATED, jobs=list(known), digests=digests, asked=asked, again=again)
    ]


def replace(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Replace the needs of these jobs, which wait or are about to, by the needs of this plan."""
    if not jobs:
        return
    numbers = [ids[job.name] for job in jobs]
    tx.rows(_HOLD_NEEDS, jobs=numbers)
    tx.rows(_HOLD_GATES, jobs=numbers)
    tx.write(_DROP_NEEDS, jobs=numbers)
    tx.write(_DROP_GATES, jobs=numbers)
    tx.write(_UPDATE_DIGESTS, jobs=numbers, digests=[job.digest for job in jobs])
    write(tx, jobs, ids)


def discount(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
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
    """Write the gates and needs of jobs that have just been set waiting, as if no parent had ended yet."""
    for start in range(0, len(jobs), BATCH):
        _write(tx, jobs[start : start + BATCH], ids)


def _write(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    gates = [
        (ids[job.name], place, gate.name, len(gate.needs))
        for job in jobs
        for place, gate in enumerate(job.gates)
    ]
    if not gates:
        return
    tx.write(_INSERT_GATES, **arrays(gates, "child", "gate", "name", "unmet"))
    needs = [
        (ids[job.name], place, ids[need.parent], need.when)
        for job in jobs
        for place, gate in enumerate(job.gates)
        for need in gate.needs
    ]
    if needs:
        tx.write(_INSERT_NEEDS, **arrays(needs, "child", "gate", "parent", "condition"))
