"""Release of waiting jobs: they become ready if a gate is open, and end if no gate can open any more.

Jobs of a pool only start to wait for a slot here; ``ledger.limits.pools`` assigns free slots and makes these jobs
ready. Slots are not counted in any table: each job that is ready or running occupies one. Jobs that make_ready a slot
(``move_out``) and jobs that start to wait for one (``split_slot_waiters``) both note the pool (``Tx.pools``).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sluice.jobs.policy.priority import Urgency
from sluice.jobs.states import FAIL_UPSTREAM, MAKE_READY, SKIP, By, State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.driver import Row
from sluice.ledger.database.transitions import DUE, NOW, move, move_or_wait_for_slot


class ReadyJob(NamedTuple):
    """A job to notify workers of.

    ``due_at`` is when it could have started; ``not_before`` is the same time if the job had to wait for it. An
    ``alone`` job must not share a batch. It once took its worker down, or it is half of a failed chunk, so that either
    half may do so. Or it is a saga that has started; the losses of such a saga are not counted.
    """

    job: int
    app: str
    round: int
    priority: int
    effective_deadline: datetime | None
    due_at: datetime
    alone: bool
    not_before: datetime | None = None

    @property
    def urgency(self) -> Urgency:
        return Urgency.of(self.priority, self.effective_deadline)


ALONE = "(losses > 0 OR bisected_from IS NOT NULL OR saga_open)"
#: The columns that a statement on ``job`` returns for each ``ReadyJob``.
READY_COLUMNS = f"id, app, round, priority, effective_deadline, {DUE} AS due_at, {ALONE} AS alone, not_before"

#: The groomer ends a job that has passed its ``end_before``, and no worker starts it. A saga that has started is
#: claimed by a worker all the same, to be undone.
UNEXPIRED = f"(job.saga_open OR coalesce(job.end_before > {NOW}, true))"
_HAS_COME = f"coalesce(job.not_before <= {NOW}, true) AND {UNEXPIRED}"
#: SQL that is true if at most a pause keeps a waiting job from running.
MAY_RUN = f"job.unblocked AND {_HAS_COME}"
#: A job that is made ready counts as announced: the caller sends its notification.
ANNOUNCED = f"dispatched_at = {NOW}, dispatch_attempts = 0"
#: Set instead if the job belongs to a pool: it waits for a slot.
WAITS_FOR_SLOT = "waiting_for_slot = true"
#: SQL that is true if a job behind a gate that has just opened may start and needs no slot.
MAY_BEGIN = (
    f"(CASE WHEN job.{MAKE_READY.guard} "
    f"THEN {_HAS_COME} AND NOT job.paused AND job.pool IS NULL ELSE false END)"
)
_MAKE_READY = {
    by: move_or_wait_for_slot(
        MAKE_READY,
        by,
        WAITS_FOR_SLOT,
        condition=f"{MAY_RUN} AND NOT job.paused",
        sets=ANNOUNCED,
        returning=READY_COLUMNS,
    )
    for by in sorted(MAKE_READY.by)
}
# For jobs behind a gate that has just opened.
_MAKE_OPENED_READY = {
    by: move_or_wait_for_slot(
        MAKE_READY,
        by,
        f"unblocked = true, {WAITS_FOR_SLOT}",
        condition=f"{_HAS_COME} AND NOT job.paused",
        sets=f"unblocked = true, {ANNOUNCED}",
        returning=READY_COLUMNS,
    )
    for by in sorted(MAKE_READY.by)
}
_ROWS = f"SELECT {READY_COLUMNS} FROM job WHERE id = ANY(%(jobs)s) ORDER BY id"
_SET_OPEN = f"UPDATE job SET unblocked = true WHERE id = ANY(%(jobs)s) AND NOT unblocked AND state = '{State.WAITING}'"

# A job that has started already has its inputs, so the later outcomes of its parents do not matter.
_EVERY_GATE_DEAD = """
NOT job.saga_open AND EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id)
AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id AND gate.impossible = 0)
"""
# A job is skipped instead of failed if nothing went wrong in some gate of it. That is so if the gate's dead parents
# were skipped, or if they ended well while the job needed them to fail.
_A_GATE_ONLY_SKIPPED = f"""
EXISTS (
    SELECT 1 FROM gate WHERE gate.child = job.id AND NOT EXISTS (
        SELECT 1 FROM need JOIN job parent ON parent.id = need.parent
        WHERE need.child = gate.child AND need.gate = gate.gate
          AND need.met = false AND need.condition <> 'failed' AND parent.state <> '{State.SKIPPED}'))
"""
_SKIP = move(
    SKIP, By.PLANNER, condition=f"{_EVERY_GATE_DEAD} AND {_A_GATE_ONLY_SKIPPED}", returning="id, app"
)
_FAIL_UPSTREAM = move(FAIL_UPSTREAM, By.PLANNER, condition=_EVERY_GATE_DEAD, returning="id, app")


def make_ready(tx: Tx, by: By, jobs: list[int]) -> list[ReadyJob]:
    """Make ready the jobs that may run now, and return them. They count as announced; the caller notifies workers.

    Jobs of a pool start to wait for a slot. The caller admits them before its transaction ends.
    """
    return (
        [ReadyJob(*row) for row in split_slot_waiters(tx, tx.rows(_MAKE_READY[by], jobs=jobs)).ready]
        if jobs
        else []
    )


def made_ready(tx: Tx, jobs: list[int]) -> list[ReadyJob]:
    """Return these jobs, which this transaction has made ready in another way."""
    return [ReadyJob(*row) for row in tx.rows(_ROWS, jobs=jobs)] if jobs else []


def open_gates(tx: Tx, by: By, jobs: list[int]) -> list[ReadyJob]:
    """Mark these jobs as open, because a gate of each has opened. Return the jobs that are ready by that.

    Jobs of a pool start to wait for a slot. The caller admits them before its transaction ends.
    """
    if not jobs:
        return []
    released = split_slot_waiters(tx, tx.rows(_MAKE_OPENED_READY[by], jobs=jobs))
    ready = [ReadyJob(*row) for row in released.ready]
    if kept := sorted({*jobs}.difference(released.waiting_for_slot, (job.job for job in ready))):
        tx.write(_SET_OPEN, jobs=kept)
    return ready


def fail_upstream(tx: Tx, jobs: list[int]) -> dict[int, str]:
    """End the jobs that no gate can let through any more, as skipped or ``upstream_failed``. Return each with
    its app."""
    if not jobs:
        return {}
    return dict(tx.rows(_SKIP, jobs=jobs) + tx.rows(_FAIL_UPSTREAM, jobs=jobs))


class SlotSplit(NamedTuple):
    """Rows of the jobs that are ready, and ids of the jobs that wait for a slot."""

    ready: list[Row]
    waiting_for_slot: list[int]


def move_out(tx: Tx, sql: str, **params: object) -> list[int]:
    """Move jobs by this statement of ``transitions.move`` and return them. A job that had a slot releases it."""
    moved = tx.rows(sql, **params)
    tx.pools.update(pool for _, pool in moved if pool is not None)
    return [id for id, _ in moved]


def split_slot_waiters(tx: Tx, rows: Iterable[Row]) -> SlotSplit:
    """Sort the rows of a move that lets jobs wait for a slot. The last column is the pool of a job that waits, else
    null."""
    released = SlotSplit([], [])
    for *row, pool in rows:
        if pool is None:
            released.ready.append(tuple(row))
        else:
            tx.pools.add(pool)
            released.waiting_for_slot.append(row[0])
    return released
