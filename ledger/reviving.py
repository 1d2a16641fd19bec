"""Ended jobs wait again: by request, because a dead parent does, or because somebody wants a cancelled one.

A revived job starts a new life: its tries begin at zero, its claims go on counting, its history stays. So does the
time before which it was not to start; one that was to be tried again later need not wait for that. Of a saga it
is a new flight, with a journal of its own; but where the last one could not be undone, it is that one which goes on.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sluice.jobs.states import DEAD, REVIVE, TERMINAL, UNSUCCESSFUL, By, State, sql_list
from sluice.ledger import counts
from sluice.ledger.connection import Tx
from sluice.ledger.sql import move
from sluice.ledger.submissions import repay
from sluice.ledger.wishes import forget_ended

_DEAD = sql_list(*sorted(DEAD))
_ENDED = sql_list(*sorted(TERMINAL))

# Skipped for its own sake, by its app's filter, and not for its parents': such a job has no gates.
_FILTERED = f"(job.state = '{State.SKIPPED}' AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id))"

# Upwards from what is to run again: the dead parents that would strand it at once.
_DEAD_ANCESTORS = f"""
WITH RECURSIVE up (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.parent FROM up JOIN need ON need.child = up.id JOIN job ON job.id = need.parent
    WHERE need.settled = false AND job.state IN ({_DEAD}) AND NOT {_FILTERED}
)
SELECT id FROM up
"""
# Downwards: jobs that ended only because these had.
_DEAD_DESCENDANTS = f"""
WITH RECURSIVE down (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.child FROM down JOIN need ON need.parent = down.id JOIN job ON job.id = need.child
    WHERE need.settled = false AND job.state IN ('{State.UPSTREAM_FAILED}', '{State.SKIPPED}')
)
SELECT id FROM down
"""
_ALL_DESCENDANTS = f"""
WITH RECURSIVE down (id) AS (
    SELECT unnest(%(jobs)s::bigint[])
    UNION
    SELECT need.child FROM down JOIN need ON need.parent = down.id JOIN job ON job.id = need.child
    WHERE job.state IN ({_ENDED})
)
SELECT id FROM down
"""
_UNCHANGED = f"""
SELECT job.id FROM job JOIN unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (id, claim) USING (id)
WHERE job.state = '{State.SUCCEEDED}' AND job.claim = given.claim ORDER BY job.id
"""
_UNSUCCESSFUL = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state IN ({sql_list(*sorted(UNSUCCESSFUL))}) ORDER BY id
"""
_CANCELLED = f"SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.CANCELLED}'"

_REVIVE = move(
    REVIVE,
    By.PLANNER,
    sets="round = 0, fails = 0, timeouts = 0, losses = 0, open = job.flying, announced_at = NULL, event = NULL, "
    "not_before = CASE WHEN job.round = 0 THEN job.not_before END, "
    "urgent_by = NULL, failing = 0, paused = false, archived_at = NULL, "
    "flight = job.flight + (NOT job.flying)::int, turn_back = NULL",
    forgets_work=True,
    note="CASE WHEN id = ANY(%(named)s::bigint[]) THEN %(note)s::text END",
)
#: Said of a job that is run again for the age of its last success.
STALE_INPUT = "a stale input"
# A child that may run, and has not been let to, may be released at any moment by somebody who asks no gate: he waits
# for these rows, or passes over them, and finds it shut.
_HOLD_OPEN_CHILDREN = f"""
SELECT id FROM job
WHERE id IN (SELECT child FROM need WHERE parent = ANY(%(jobs)s))
  AND CASE WHEN state = '{State.WAITING}' THEN open AND NOT flying END
ORDER BY id FOR UPDATE
"""
# From the parents to their children, whatever the statistics say of waiting jobs: these know nothing of the hundred
# thousand that this very transaction has set waiting (as in ``sql.guard``).
_WAITING_CHILDREN = f"""
SELECT DISTINCT need.child FROM unnest(%(jobs)s::bigint[]) AS given (id)
JOIN need ON need.parent = given.id JOIN job ON job.id = need.child
WHERE CASE WHEN job.state = '{State.WAITING}' THEN NOT job.flying END
"""


class Revived(NamedTuple):
    """``jobs`` wait again. ``touched`` are those and whoever waits for them: all were counted anew, which may have
    told them of other parents' ends too, so each is to be released or stranded by whoever revived."""

    jobs: list[int]
    touched: list[int]


def unchanged(tx: Tx, claims: Mapping[int, int]) -> list[int]:
    """Those of the jobs whose last run is the one under this claim, and has succeeded. Their rows are held."""
    return tx.column(_UNCHANGED, jobs=list(claims), claims=list(claims.values()))


def unsuccessful(tx: Tx, jobs: list[int]) -> list[int]:
    """Return those of the jobs that have ended without success. The caller holds their rows."""
    return tx.column(_UNSUCCESSFUL, jobs=jobs)


def rerun(tx: Tx, jobs: list[int], *, downstream: bool, note: str | None = None) -> Revived:
    """Run these jobs again, with whatever dead ancestors and descendants they have. The note is on themselves."""
    if not jobs:
        return Revived([], [])
    roots = tx.column(_DEAD_ANCESTORS, jobs=jobs)
    descendants = _ALL_DESCENDANTS if downstream else _DEAD_DESCENDANTS
    return _revive(tx, tx.column(descendants, jobs=roots), named=jobs, note=note)


def rerun_alone(tx: Tx, jobs: list[int]) -> Revived:
    """Run these jobs again, and no others with them."""
    return _revive(tx, jobs) if jobs else Revived([], [])


def begin_anew(tx: Tx, jobs: list[int]) -> list[int]:
    """Run these jobs again and nobody with them: what they need is about to be said anew. All whom that touches."""
    return _revive(tx, jobs).touched if jobs else []


def want_again(tx: Tx, jobs: list[int]) -> Revived:
    """Those of the jobs that were cancelled wait again: the reason for it, that nobody wants them, is gone."""
    cancelled = tx.column(_CANCELLED, jobs=jobs)
    return _revive(tx, tx.column(_DEAD_DESCENDANTS, jobs=cancelled)) if cancelled else Revived([], [])


def _revive(tx: Tx, jobs: list[int], *, named: Sequence[int] = (), note: str | None = None) -> Revived:
    revived = tx.column(_REVIVE, jobs=jobs, named=[*named], note=note)
    repay(tx, revived)
    forget_ended(tx, revived)
    tx.rows(_HOLD_OPEN_CHILDREN, jobs=revived)
    # One of them may begin by another gate, or by the last of its other parents, while we wait for these.
    touched = sorted({*revived, *counts.waiting(tx, tx.column(_WAITING_CHILDREN, jobs=revived))})
    counts.recount(tx, touched)
    return Revived(revived, touched)
