"""Unmet needs of a job: its alternatives, the parents that they lack, and the causes further upstream.

A job may have a hundred thousand parents, so all reads are bounded.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.gate import When
from sluice.jobs.ref import JobName
from sluice.jobs.states import State, sql_list
from sluice.ledger.connection import Tx

#: Maximum number of an alternative's parents, and of jobs upstream, that are read.
LOOKED_AT_MAX = 10_000
#: Maximum number of parents that are listed for each alternative, and of causes.
TOLD_MAX = 20

# Expected parents of a step stand for partitions of external tables: see ``to_land``.
_OF_STEP = "(SELECT place IS NOT NULL FROM job WHERE id = %(job)s) AS of_step"
_LACKED = """
SELECT parent, condition, settled, outlived FROM need
WHERE need.child = gate.child AND need.gate = gate.gate AND settled IS NOT TRUE LIMIT %(looked)s
"""
_ALTERNATIVES = f"""
SELECT gate.name, gate.unmet, gate.dead, coalesce(tally.states, '{{}}') AS states, {_OF_STEP}
FROM gate LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(state, count) AS states FROM (
        SELECT parent.state, count(*) FROM ({_LACKED}) lacked JOIN job parent ON parent.id = lacked.parent
        GROUP BY parent.state) counted) tally ON true
WHERE gate.child = %(job)s ORDER BY gate.gate
"""
_LAST_ERROR = """
LEFT JOIN LATERAL (
    SELECT error FROM round WHERE round.job = {job} AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) last ON true
"""
# First the parents that can no longer meet the need, then the parents that no submission has requested. In both cases a
# person must act.
_UNSETTLED = f"""
SELECT gate.name AS group, told.*, last.error, {_OF_STEP}
FROM gate CROSS JOIN LATERAL (
    SELECT parent.id, parent.app, parent.key, parent.state, parent.changed_at AS since, condition,
           settled IS FALSE AS dead,
           coalesce(parent.state = '{State.SUCCEEDED}' AND parent.claim <= outlived, false) AS stale
    FROM ({_LACKED}) lacked JOIN job parent ON parent.id = lacked.parent
    ORDER BY settled, parent.state = '{State.EXPECTED}' DESC, parent.app, parent.key LIMIT %(limit)s) told
{_LAST_ERROR.format(job="told.id")}
WHERE gate.child = %(job)s ORDER BY told.dead DESC, gate.gate
"""
# Upstream through dead parents, to parents that did not end because of their own parents.
_CAUSES = f"""
WITH RECURSIVE up (id) AS (
    SELECT %(job)s::bigint
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id WHERE need.settled IS FALSE
)
SELECT job.app, job.key, job.state, job.changed_at AS since, last.error
FROM (SELECT id FROM up LIMIT %(looked)s) reached JOIN job USING (id) {_LAST_ERROR.format(job="job.id")}
WHERE job.id <> %(job)s AND (job.state NOT IN ({sql_list(State.UPSTREAM_FAILED, State.SKIPPED)}) OR NOT EXISTS (
    SELECT 1 FROM need WHERE need.child = job.id AND need.settled IS FALSE))
ORDER BY job.changed_at, job.id LIMIT %(limit)s
"""
# Upstream through jobs that wait for their parents, to jobs that wait for something else. A job that no submission has
# requested comes first, if its child has no other alternative. The other jobs are in the order in which they may need
# attention.
_ROOT = f"""
WITH RECURSIVE up (id, sole) AS (
    SELECT %(job)s::bigint, true
    UNION
    SELECT need.parent, NOT EXISTS (SELECT 1 FROM gate other WHERE other.child = up.id AND other.gate <> gate.gate)
    FROM up JOIN job ON job.id = up.id AND job.state = '{State.WAITING}' AND NOT job.open
         JOIN gate ON gate.child = up.id AND gate.dead = 0
         JOIN need ON need.child = gate.child AND need.gate = gate.gate AND need.settled IS NULL
)
SELECT job.app, job.key FROM (SELECT * FROM up LIMIT %(looked)s) reached JOIN job USING (id)
WHERE job.id <> %(job)s AND job.state = ANY(%(order)s) AND (job.state <> '{State.WAITING}' OR job.open)
ORDER BY job.state = '{State.EXPECTED}' AND reached.sole DESC, array_position(%(order)s::text[], job.state),
         job.changed_at, job.id LIMIT 1
"""
_ROOT_ORDER = (State.SUSPENDED, State.READY, State.WAITING, State.EXECUTED, State.RUNNING, State.EXPECTED)


class Alternative(Struct, frozen=True):
    """Alternative of a job. ``unmet`` is the number of its needs that are not met, ``dead`` how many of these never
    will be. ``states`` counts the parents of unmet needs by state."""

    name: str
    unmet: int
    dead: int
    states: Mapping[State, int]
    of_step: bool = False

    @property
    def to_land(self) -> int:
        """Number of its parents that stand for partitions of external tables."""
        return self.states.get(State.EXPECTED, 0) if self.of_step else 0


class Unsettled(Struct, frozen=True):
    """Parent that does not meet the need of the job. ``dead``: it never will. ``stale``: it has succeeded, but too long
    ago, and no rerun has been requested. ``error`` is its last error."""

    group: str
    app: str
    key: str
    state: State
    since: datetime
    condition: When
    dead: bool
    error: str | None = None
    stale: bool = False
    of_step: bool = False

    @property
    def to_land(self) -> bool:
        """True if it stands for a partition of an external table."""
        return self.of_step and self.state is State.EXPECTED

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Cause(Struct, frozen=True):
    """Job upstream, possibly far, that ended badly for a reason of its own."""

    app: str
    key: str
    state: State
    since: datetime
    error: str | None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def alternatives(tx: Tx, job: int) -> list[Alternative]:
    return tx.structs(Alternative, _ALTERNATIVES, job=job, looked=LOOKED_AT_MAX)


def unsettled(tx: Tx, job: int) -> list[Unsettled]:
    """Return the parents that do not meet a need: dead ones first, and the first few of each alternative."""
    return tx.structs(Unsettled, _UNSETTLED, job=job, looked=LOOKED_AT_MAX, limit=TOLD_MAX)


def root(tx: Tx, job: int) -> JobName | None:
    """Return the most important upstream job that a waiting job waits for in the end; None if there is none."""
    rows = tx.rows(_ROOT, job=job, looked=LOOKED_AT_MAX, order=[*_ROOT_ORDER])
    return JobName(*rows[0]) if rows else None


def causes(tx: Tx, job: int) -> list[Cause]:
    return tx.structs(Cause, _CAUSES, job=job, looked=LOOKED_AT_MAX, limit=TOLD_MAX)
