"""What a job needs that has not come: its alternatives, the parents that these lack, and what went wrong further up.

A job may have a hundred thousand parents, so what is read of them is bounded.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.gate import When
from sluice.jobs.ref import JobName
from sluice.jobs.states import State, sql_list
from sluice.ledger.connection import Tx

#: No more of an alternative's parents, and of what is above a job, are looked at.
LOOKED_AT_MAX = 10_000
#: Of each alternative, and of the causes, so many are told.
TOLD_MAX = 20

# What a step needs and nobody has asked for is brought by others: see ``to_land``.
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
# First what will never come, then what nobody has asked for: these are what somebody has to do something about.
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
# Upwards through dead parents, to those that did not end for their own parents' sake.
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
# Upwards through what waits for its parents, to those that wait for something else. What nobody has asked for holds all
# up, unless there is another alternative; the rest in the order in which it may need somebody.
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
    """``unmet`` is how many of its parents have not come to what is needed, ``dead`` how many of these never will;
    ``states`` counts them by the state that they are in."""

    name: str
    unmet: int
    dead: int
    states: Mapping[State, int]
    of_step: bool = False

    @property
    def to_land(self) -> int:
        """How many of its parents stand for partitions that others bring."""
        return self.states.get(State.EXPECTED, 0) if self.of_step else 0


class Unsettled(Struct, frozen=True):
    """A parent that is not what the job needs it to be; ``dead``: and never will; ``stale``: it has succeeded, but too
    long ago, and nobody has had it run again. ``error`` is its last one."""

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
        """It stands for a partition that others bring."""
        return self.of_step and self.state is State.EXPECTED

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Cause(Struct, frozen=True):
    """A job, far up perhaps, that ended badly for reasons of its own."""

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
    """The dead first, and of each alternative the first few."""
    return tx.structs(Unsettled, _UNSETTLED, job=job, looked=LOOKED_AT_MAX, limit=TOLD_MAX)


def root(tx: Tx, job: int) -> JobName | None:
    """The job above a waiting one that all of them wait for, as far as there is one that matters most."""
    rows = tx.rows(_ROOT, job=job, looked=LOOKED_AT_MAX, order=[*_ROOT_ORDER])
    return JobName(*rows[0]) if rows else None


def causes(tx: Tx, job: int) -> list[Cause]:
    return tx.structs(Cause, _CAUSES, job=job, looked=LOOKED_AT_MAX, limit=TOLD_MAX)
