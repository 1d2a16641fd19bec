"""Waiting jobs leave their gates: to the queue when one is open, to the dead when none can open.

Those of a pool go no farther than into its line; ``pools`` lets them out.
"""

from datetime import datetime
from typing import NamedTuple

from sluice.jobs.states import RELEASE, SKIP, STRAND, By, State
from sluice.jobs.urgency import Urgency
from sluice.ledger.connection import Tx
from sluice.ledger.slots import line_up
from sluice.ledger.sql import DUE, NOW, move


class Ready(NamedTuple):
    """A job to announce, which could have begun at ``due_at``; ``not_before`` is that too, where it had to wait for it.
    ``alone`` says that it must not share a parcel: it once took its worker down, or it is half of what failed, so one
    of the two may do so, or it is a saga that has begun, whose losses nobody counts."""

    job: int
    app: str
    round: int
    priority: int
    urgent_by: datetime | None
    due_at: datetime
    alone: bool
    not_before: datetime | None = None

    @property
    def urgency(self) -> Urgency:
        return Urgency.of(self.priority, self.urgent_by)


ALONE = "(losses > 0 OR half_of IS NOT NULL OR flying)"
#: What a statement on ``job`` returns for each ``Ready``.
READY_COLUMNS = f"id, app, round, priority, urgent_by, {DUE}, {ALONE}, not_before"

#: A job that has passed its ``end_before`` is the groomer's to end, not a worker's to begin; a saga that has begun is
#: a worker's all the same, to be undone.
UNEXPIRED = f"(job.flying OR coalesce(job.end_before > {NOW}, true))"
_HAS_COME = f"coalesce(job.not_before <= {NOW}, true) AND {UNEXPIRED}"
#: Whether nothing keeps a waiting job but a pause.
MAY_RUN = f"job.open AND {_HAS_COME}"
#: Whoever releases sends the word.
ANNOUNCED = f"announced_at = {NOW}, announcements = 0"
#: What becomes of a job of a pool instead.
IN_LINE = "queued = true"
#: Whether a job behind a gate that has just opened may begin, and needs no slot for it.
MAY_BEGIN = (
    f"(CASE WHEN job.{RELEASE.guard} THEN {_HAS_COME} AND NOT job.paused AND job.pool IS NULL ELSE false END)"
)
_RELEASE = {
    by: move(
        RELEASE,
        by,
        condition=f"{MAY_RUN} AND NOT job.paused",
        sets=ANNOUNCED,
        returning=READY_COLUMNS,
        in_line=IN_LINE,
    )
    for by in sorted(RELEASE.by)
}
# Of those behind a gate that has just opened.
_RELEASE_OPENED = {
    by: move(
        RELEASE,
        by,
        condition=f"{_HAS_COME} AND NOT job.paused",
        sets=f"open = true, {ANNOUNCED}",
        returning=READY_COLUMNS,
        in_line=f"open = true, {IN_LINE}",
    )
    for by in sorted(RELEASE.by)
}
_ROWS = f"SELECT {READY_COLUMNS} FROM job WHERE id = ANY(%(jobs)s) ORDER BY id"
_SET_OPEN = f"UPDATE job SET open = true WHERE id = ANY(%(jobs)s) AND NOT open AND state = '{State.WAITING}'"

# What has begun has its inputs: what becomes of the parents after that is none of its business.
_EVERY_GATE_DEAD = """
NOT job.flying AND EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id)
AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id AND gate.dead = 0)
"""
# A job is skipped, not failed, where nothing went wrong with one of its gates: its dead parents were skipped, or
# they came to a good end that it would have waited for in vain.
_A_GATE_ONLY_SKIPPED = f"""
EXISTS (
    SELECT 1 FROM gate WHERE gate.child = job.id AND NOT EXISTS (
        SELECT 1 FROM need JOIN job parent ON parent.id = need.parent
        WHERE need.child = gate.child AND need.gate = gate.gate
          AND need.settled = false AND need.condition <> 'failed' AND parent.state <> '{State.SKIPPED}'))
"""
_SKIP = move(
    SKIP, By.PLANNER, condition=f"{_EVERY_GATE_DEAD} AND {_A_GATE_ONLY_SKIPPED}", returning="id, app"
)
_STRAND = move(STRAND, By.PLANNER, condition=_EVERY_GATE_DEAD, returning="id, app")


def release(tx: Tx, by: By, jobs: list[int]) -> list[Ready]:
    """Those of the jobs that may run now become ready, and count as announced: whoever asked sends the word.

    Those of a pool stand in its line: whoever asked lets them in before his transaction ends.
    """
    return [Ready(*row) for row in line_up(tx, tx.rows(_RELEASE[by], jobs=jobs)).ready] if jobs else []


def made_ready(tx: Tx, jobs: list[int]) -> list[Ready]:
    """These jobs, which this transaction has made ready otherwise."""
    return [Ready(*row) for row in tx.rows(_ROWS, jobs=jobs)] if jobs else []


def open_gates(tx: Tx, by: By, jobs: list[int]) -> list[Ready]:
    """The same of jobs of which a gate has opened. Those of them that may not run yet are open from now on."""
    if not jobs:
        return []
    released = line_up(tx, tx.rows(_RELEASE_OPENED[by], jobs=jobs))
    ready = [Ready(*row) for row in released.ready]
    if kept := sorted({*jobs}.difference(released.in_line, (job.job for job in ready))):
        tx.write(_SET_OPEN, jobs=kept)
    return ready


def strand(tx: Tx, jobs: list[int]) -> dict[int, str]:
    """End those of the jobs that no gate can let through any more; each with its app."""
    if not jobs:
        return {}
    return dict(tx.rows(_SKIP, jobs=jobs) + tx.rows(_STRAND, jobs=jobs))
