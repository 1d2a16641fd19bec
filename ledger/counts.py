"""How much each job still waits for: the counters on gates, and the two ways they change.

The protocol (docs/ledger.md has it in full). What holds between transactions: ``gate.unmet`` is the
number of its needs that are not met, ``gate.dead`` the number that cannot be met any more, and a need is
settled if its parent has ended and its children were told. Lock order: parents' job rows, needs, gates,
children's job rows, each in id order.

A finishing parent against a plan for its child: ``recount`` locks the parents' rows FOR SHARE and reads
their states in a later statement; whoever ends a parent writes its row first and looks for children
in a later statement (``tell``). So one of the two always sees the other. In one statement with a common
table expression the look-up would use the older snapshot, and the child would wait for ever.

Two parents finishing together: each settles its own needs; the gate's row lock orders the decrements, and
whoever brings it to zero opens the child. Telling twice settles nothing twice. A crash leaves a row in
``owed`` (see judging), and the groomer has it told again.
"""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from sluice.jobs.gate import DEAD_FOR, MET
from sluice.jobs.states import SPLIT, By, State, sql_list
from sluice.ledger import urgency
from sluice.ledger.connection import Tx
from sluice.ledger.parts import divisible
from sluice.ledger.release import MAY_BEGIN, READY_COLUMNS, Ready, open_gates, strand

_MET, _DEAD = (
    " OR ".join(
        f"need.condition = '{when}' AND parent.state IN ({sql_list(*sorted(states))})"
        for when, states in of_when.items()
        if states
    )
    for of_when in (MET, DEAD_FOR)
)
#: Whether a parent has failed for good and is about to be split: that has decided nothing.
UNSPLIT = f"(parent.{SPLIT.guard} AND {divisible('parent')})"
#: Whether a parent's last success was too old when the child was planned: neither has that decided anything.
OUTLIVED = f"(parent.state = '{State.SUCCEEDED}' AND parent.claim <= need.outlived)"
#: Whether a parent whose work goes on until it is stopped is claimed and that work is not started, or has just failed.
UNSTARTED = (
    "(need.condition = 'running' AND parent.unbounded AND parent.handle IS NULL"
    f" AND parent.state IN ({sql_list(State.RUNNING, State.EXECUTED)}))"
)
#: What a parent's state means to a need: met, dead, or (null) open yet.
VERDICT = (
    f"(CASE WHEN {UNSPLIT} OR {OUTLIVED} OR {UNSTARTED} THEN NULL"
    f" WHEN {_MET} THEN true WHEN {_DEAD} THEN false END)"
)

_HOLD_PARENTS = """
SELECT id FROM job WHERE id IN (SELECT parent FROM need WHERE child = ANY(%(jobs)s)) ORDER BY id FOR SHARE
"""
_HOLD_NEEDS = "SELECT child FROM need WHERE child = ANY(%(jobs)s) ORDER BY child, gate, parent FOR UPDATE"
_HOLD_GATES = "SELECT child FROM gate WHERE child = ANY(%(jobs)s) ORDER BY child, gate FOR UPDATE"
_SETTLE_FOR_CHILDREN = f"""
UPDATE need SET settled = {VERDICT}
FROM job parent
WHERE need.child = ANY(%(jobs)s) AND parent.id = need.parent AND need.settled IS DISTINCT FROM {VERDICT}
"""
_COUNT = """
UPDATE gate SET unmet = counted.unmet, dead = counted.dead
FROM (
    SELECT gate.child, gate.gate, count(need.parent) FILTER (WHERE need.settled IS NOT TRUE) AS unmet,
           count(need.parent) FILTER (WHERE need.settled IS FALSE) AS dead
    FROM gate LEFT JOIN need USING (child, gate)
    WHERE gate.child = ANY(%(jobs)s) GROUP BY gate.child, gate.gate
) counted
WHERE gate.child = counted.child AND gate.gate = counted.gate
"""
# As a CASE for the reason that ``sql.guard`` has: else each of ten thousand is looked for among all that wait.
_OPEN = f"""
UPDATE job SET open = counted.open, queued = job.queued AND counted.open
FROM (
    SELECT child, coalesce(bool_or(gate.unmet = 0), true) AS open
    FROM unnest(%(jobs)s::bigint[]) AS given (child) LEFT JOIN gate USING (child) GROUP BY child
) counted
WHERE job.id = counted.child
  AND CASE WHEN job.state = '{State.WAITING}' THEN job.open <> counted.open AND NOT job.flying END
"""

# The parents' rows are held, so nothing that this reads of them is older than what it waited for. Needs, then gates,
# each in its order. The needs are held before they are looked for again, not joined with: where a parent has a thousand
# children, Postgres may look for each of the thousand among all of them.
_COUNT_DOWN = f"""
WITH held_need AS MATERIALIZED (
    SELECT child FROM need
    WHERE parent = ANY(%(jobs)s) AND settled IS NULL ORDER BY child + 0, gate, parent FOR UPDATE
), settled AS (
    UPDATE need SET settled = {VERDICT}
    FROM job parent
    WHERE (SELECT count(*) FROM held_need) > 0
      AND need.parent = ANY(%(jobs)s) AND parent.id = need.parent
      AND need.settled IS NULL AND {VERDICT} IS NOT NULL
    RETURNING need.child, need.gate, need.settled
), touched AS MATERIALIZED (
    SELECT child, gate, count(*) FILTER (WHERE settled) AS met, count(*) FILTER (WHERE NOT settled) AS died
    FROM settled GROUP BY child, gate
), held_gate AS MATERIALIZED (
    SELECT gate.child, gate.gate, touched.met, touched.died FROM gate JOIN touched USING (child, gate)
    ORDER BY gate.child, gate.gate FOR UPDATE OF gate
)
UPDATE gate SET unmet = gate.unmet - held.met, dead = gate.dead + held.died
FROM held_gate held JOIN job ON job.id = held.child
WHERE gate.child = held.child AND gate.gate = held.gate
RETURNING gate.unmet = 0, held.died > 0, {MAY_BEGIN}, {READY_COLUMNS}
"""
# A need for what runs is met by no end, and whoever has begun is told by nobody who ends.
_UNTELL = """
UPDATE need SET settled = NULL FROM job child
WHERE need.child = ANY(%(jobs)s) AND child.id = need.child AND NOT child.flying AND need.condition <> 'running'
"""
_STILL_TO_TELL = f"""
SELECT DISTINCT parent.id FROM need JOIN job parent ON parent.id = need.parent
WHERE need.child = ANY(%(jobs)s) AND need.settled IS NULL AND {VERDICT} IS NOT NULL
"""
_HOLD_ENDED = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE"
_HOLD_CHILDREN = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE"
_HOLD_WAITING = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.WAITING}' ORDER BY id FOR UPDATE
"""


#: Of jobs that may begin by this, who has them begin here and now: those that have.
Begin = Callable[[list[Ready]], Collection[int]]


class _Touched(NamedTuple):
    """A gate that was counted down, and the job behind it."""

    is_open: bool
    has_lost: bool
    may_begin: bool
    job: Ready


class Told(NamedTuple):
    """``ready`` may run now; ``turned`` lost a gate and still have another, whose parents somebody must ask for.

    ``stranded`` have ended by this, each with its app: who exists of their children has been told, and whoever
    follows from such an end is still to be planned.
    """

    ready: list[Ready]
    turned: list[int]
    stranded: Mapping[int, str]


def recount(tx: Tx, children: list[int]) -> None:
    """Set everything these jobs' gates say from the states of their parents, whatever it was before."""
    if not children:
        return
    tx.rows(_HOLD_PARENTS, jobs=children)
    tx.rows(_HOLD_GATES, jobs=children)
    tx.write(_SETTLE_FOR_CHILDREN, jobs=children)
    tx.write(_COUNT, jobs=children)
    tx.write(_OPEN, jobs=children)


def untell(tx: Tx, children: list[int]) -> list[int]:
    """Count the gates of these jobs anew, those that wait as if nobody had told them anything; who is to tell them."""
    tx.rows(_HOLD_PARENTS, jobs=children)
    tx.rows(_HOLD_NEEDS, jobs=children)
    tx.rows(_HOLD_GATES, jobs=children)
    tx.write(_UNTELL, jobs=tx.column(_HOLD_WAITING, jobs=children))
    tx.write(_COUNT, jobs=children)
    tx.write(_OPEN, jobs=children)
    return tx.column(_STILL_TO_TELL, jobs=children)


def waiting(tx: Tx, children: list[int]) -> list[int]:
    """Those of the children that wait; nobody lets them begin before this transaction ends. Whoever is about to tell
    them of another parent has done so before we look, or does after us."""
    if not children:
        return []
    tx.rows(_HOLD_PARENTS, jobs=children)
    tx.rows(_HOLD_GATES, jobs=children)
    return tx.column(_HOLD_WAITING, jobs=children)


def shut(tx: Tx, jobs: list[int]) -> dict[int, str]:
    """Have those of the jobs that wait after a flight stand behind their gates again; those that this ends, with their
    apps.

    While they flew it did not matter what became of their parents. We hold their rows: whoever counts down a gate at
    this moment has done so before we look, or looks at the job after us.
    """
    waiting = tx.column(f"{_OPEN} RETURNING job.id", jobs=jobs) if jobs else []
    urgency.lend(tx, waiting)
    return strand(tx, waiting)


def hold(tx: Tx, ended: list[int]) -> None:
    """Whoever tells what others have ended holds it first, so that nobody has it run again meanwhile."""
    tx.rows(_HOLD_ENDED, jobs=ended)


def tell(tx: Tx, ended: list[int], begin: Begin | None = None) -> Told:
    """Tell the children of ended jobs, which this transaction holds, and the children of those that this ends, to any
    depth. Those that ``begin`` are not among the ready ones.

    Each turn of the loop ends jobs that had not ended before, so it is bounded by the graph.
    """
    ready: list[Ready] = []
    turned: list[int] = []
    stranded: dict[int, str] = {}
    while ended and (touched := _count_down(tx, ended)):
        opened = sorted({each.job.job for each in touched if each.is_open})
        died = sorted({each.job.job for each in touched if each.has_lost})
        if opened and (died or (begin and len(opened) > 1)):
            tx.rows(_HOLD_CHILDREN, jobs=sorted({*opened, *died}))
        may_begin = dict.fromkeys(each.job for each in touched if each.is_open and each.may_begin)
        begun = begin([*may_begin]) if begin and may_begin else ()
        ready += open_gates(tx, By.PLANNER, [job for job in opened if job not in begun])
        last = strand(tx, died)
        stranded |= last
        ended = list(last)
        turned += sorted(set(died) - set(ended) - set(opened))
    return Told(ready, turned, stranded)


def _count_down(tx: Tx, ended: list[int]) -> list[_Touched]:
    rows = tx.rows(_COUNT_DOWN, jobs=ended)
    return [
        _Touched(is_open, has_lost, may_begin, Ready(*job)) for is_open, has_lost, may_begin, *job in rows
    ]
