"""What jobs wait for, written down: their gates, and the needs behind each.

A waiting job keeps the needs it was planned with, whatever becomes of its app's definition, until somebody asks
for it anew, which a push does not: then it gets those of the definition as it is now. One that was claimed keeps
them unless it is run again.
"""

from collections.abc import Mapping, Sequence

from sluice.jobs.plan import PlannedJob
from sluice.jobs.ref import JobName
from sluice.jobs.states import TERMINAL, State, sql_list
from sluice.ledger.connection import Tx, arrays

#: The needs of so many jobs are written at once; one job may have a million.
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
# Needs, then gates, each in their own order, as whoever tells children locks them.
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
    """Those of the jobs that wait, or are about to wait again, by an older definition than they are planned by now.

    ``again`` are to be run again though they have ended. One that waits is to have been ``asked`` for: a push names
    parents and asks for none, so whoever asked for the job would wait for them in vain.
    """
    known = {ids[job.name]: job for job in jobs if job.digest is not None}
    if not known:
        return []
    digests = [job.digest for job in known.values()]
    return [
        known[id] for id in tx.column(_OUTDATED, jobs=list(known), digests=digests, asked=asked, again=again)
    ]


def replace(tx: Tx, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> None:
    """Give these jobs, which wait or are about to, the needs that they are planned with now in place of theirs."""
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
    """What is too old for these jobs, which wait or are about to, does not meet their needs. They are yet to be
    counted."""
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
