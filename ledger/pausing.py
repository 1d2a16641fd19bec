"""Pausing: what only paused submissions want is not begun until one of them is resumed.

What holds between transactions: a job that has not ended is ``paused`` if and only if somebody still wants it and all
who do are paused; and no paused job is ``ready``, which a CHECK holds the ledger to. So claims need not ask. What ran
when the pause came runs to its end, and its next round waits.

Who races whom. Whoever changes who wants a job, or which of these is paused, locks the job and reads all others who
want it in a later statement (``_reconsider``); so of two the second sees what the first did. Of a job that the first
has just made, or revived, the second knows nothing. So whoever makes one keeps those who want it from being paused or
resumed meanwhile (``hold_still``), by advisory locks and not by their rows: a row lock that is shared by one short plan
after another lets the one who waits for all of them starve, and each would write the row. Lock order: these, then
submissions, then jobs in id order.
What a crash leaves: nothing, for each is one transaction, and the groomer repeats an announcement that was not sent.
"""

from collections.abc import Collection
from typing import NamedTuple

from sluice.jobs.states import LIVE, PAUSE, RELEASE, By, sql_list
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Tx
from sluice.ledger.release import ANNOUNCED, IN_LINE, MAY_RUN, READY_COLUMNS, Ready
from sluice.ledger.slots import line_up, move_out
from sluice.ledger.sql import NOW, move
from sluice.ledger.wishes import STILL_WANTS

#: The first of the two numbers of the advisory locks; the second is a submission's, as far as there are locks for it.
_STILL = 5_318_009
#: A transaction holds no more of them than this, however many submissions it is about.
_LOCKS_MAX = 64
_SLOTS = f"""
(SELECT DISTINCT mod(number, {_LOCKS_MAX})::int AS slot FROM unnest(%(numbers)s::bigint[]) AS given (number)
 ORDER BY slot) slots
"""
_HOLD_STILL = f"SELECT pg_advisory_xact_lock_shared({_STILL}, slot) FROM {_SLOTS}"
_HOLD_ALONE = f"SELECT pg_advisory_xact_lock({_STILL}, slot) FROM {_SLOTS}"
_PAUSED = "SELECT number FROM submission WHERE number = ANY(%(numbers)s) AND paused_at IS NOT NULL"
_WANTERS = """
SELECT DISTINCT submission.number FROM wants JOIN submission ON submission.number = wants.submission
WHERE wants.job = ANY(%(jobs)s)
"""

# Nobody wants anything yet for one that is only received, and whoever plans it holds its row.
_PAUSE_RECEIVED = f"""
UPDATE submission SET paused_at = coalesce(paused_at, {NOW})
WHERE id = %(id)s AND state = '{SubmissionState.RECEIVED}' RETURNING number
"""
_RESUME_RECEIVED = f"""
UPDATE submission SET paused_at = NULL, look_at = {NOW}
WHERE id = %(id)s AND state = '{SubmissionState.RECEIVED}' AND paused_at IS NOT NULL RETURNING number
"""
_NUMBER = "SELECT number FROM submission WHERE id = %(id)s"
_PAUSE_ACTIVE = f"""
UPDATE submission SET paused_at = coalesce(paused_at, {NOW})
WHERE id = %(id)s AND state = '{SubmissionState.ACTIVE}' RETURNING number
"""
# One that has ended while it was paused may have pushed jobs that are yet to begin.
_RESUME_PLANNED = (
    "UPDATE submission SET paused_at = NULL WHERE id = %(id)s AND paused_at IS NOT NULL RETURNING number"
)

# As a CASE for the reason that ``sql.guard`` has.
_LIVES = f"CASE WHEN job.state IN ({sql_list(*sorted(LIVE))}) THEN true END"
_WANTED = f"""
SELECT job.id FROM wants JOIN job ON job.id = wants.job WHERE wants.submission = %(number)s AND {_LIVES}
"""
_HOLD = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE"
_WANTED_BY_PAUSED_ALONE = f"""
SELECT wants.job FROM wants JOIN submission ON submission.number = wants.submission
WHERE wants.job = ANY(%(jobs)s) AND {STILL_WANTS}
GROUP BY wants.job HAVING bool_and(submission.paused_at IS NOT NULL) ORDER BY wants.job
"""
_HOLD_BACK_READY = move(PAUSE, By.PLANNER, sets="paused = true")
_HOLD_BACK = f"""
UPDATE job SET paused = true, queued = false WHERE id = ANY(%(jobs)s) AND NOT paused AND {_LIVES} RETURNING id
"""
# In one step with the end of its pause: each row is written once.
_LET_GO_READY = move(
    RELEASE,
    By.PLANNER,
    condition=f"job.paused AND {MAY_RUN}",
    sets=f"paused = false, {ANNOUNCED}",
    returning=READY_COLUMNS,
    in_line=f"paused = false, {IN_LINE}",
)
_LET_GO = "UPDATE job SET paused = false WHERE id = ANY(%(jobs)s) AND paused RETURNING id"


class Resumed(NamedTuple):
    """``let_go`` are jobs that wait for something else, ``ready`` those that may run at once. ``is_planned`` is false
    of a submission that is still to be."""

    let_go: list[int]
    ready: list[Ready]
    is_planned: bool


def pause(tx: Tx, id: str) -> list[int] | None:
    """Pause a submission; the jobs that this holds back, or None where there is no open submission to pause.

    One that is not planned yet stays so. To pause it once more changes nothing.
    """
    if tx.column(_PAUSE_RECEIVED, id=id):
        return []
    numbers = _hold_alone(tx, id)
    if not numbers or not tx.column(_PAUSE_ACTIVE, id=id):
        return None
    return _reconsider(tx, tx.column(_WANTED, number=numbers[0])).held_back


def resume(tx: Tx, id: str) -> Resumed | None:
    """Let a paused submission go on; None where there is none to resume.

    All of its jobs are held, not only the paused: another submission that wants one may be paused at this moment.
    """
    if tx.column(_RESUME_RECEIVED, id=id):
        return Resumed([], [], is_planned=False)
    numbers = _hold_alone(tx, id)
    if not numbers or not tx.column(_RESUME_PLANNED, id=id):
        return None
    _, let_go, ready = _reconsider(tx, tx.column(_WANTED, number=numbers[0]))
    return Resumed(let_go, ready, is_planned=True)


def hold_still(tx: Tx, numbers: Collection[int]) -> set[int]:
    """Until this transaction ends none of these submissions is paused or resumed; those that are paused."""
    if not numbers:
        return set()
    tx.rows(_HOLD_STILL, numbers=sorted(numbers))
    return set(tx.column(_PAUSED, numbers=sorted(numbers)))


def hold_wanters_still(tx: Tx, jobs: list[int]) -> None:
    """The same of whoever wants these jobs."""
    hold_still(tx, tx.column(_WANTERS, jobs=jobs))


def follow(tx: Tx, jobs: list[int]) -> list[Ready]:
    """Jobs that this transaction has made or revived, or that somebody wants anew, are paused or not, as those are who
    want them; those that may run now because they are not any more."""
    if not jobs:
        return []
    hold_wanters_still(tx, jobs)
    return _reconsider(tx, jobs).ready


def follow_the_rest(tx: Tx, jobs: list[int]) -> None:
    """The same for jobs that somebody has stopped wanting; nobody wants them anew, so none is let go."""
    if jobs:
        _reconsider(tx, jobs)


class _Reconsidered(NamedTuple):
    held_back: list[int]
    let_go: list[int]
    ready: list[Ready]


def _reconsider(tx: Tx, jobs: list[int]) -> _Reconsidered:
    """Hold back those of the jobs that only paused submissions want, and let go the others."""
    tx.rows(_HOLD, jobs=jobs)
    paused = tx.column(_WANTED_BY_PAUSED_ALONE, jobs=jobs)
    held_back = move_out(tx, _HOLD_BACK_READY, jobs=paused) + tx.column(_HOLD_BACK, jobs=paused)
    others = sorted(set(jobs).difference(paused))
    released = line_up(tx, tx.rows(_LET_GO_READY, jobs=others))
    let_go = released.in_line + tx.column(_LET_GO, jobs=others)
    return _Reconsidered(held_back, let_go, [Ready(*row) for row in released.ready])


def _hold_alone(tx: Tx, id: str) -> list[int]:
    """Wait for whoever holds this submission still; its number, if there is such a one. (Where there is none it may
    come before the next statement, and is held by nobody then: it counts as not there.)"""
    numbers = tx.column(_NUMBER, id=id)
    tx.rows(_HOLD_ALONE, numbers=numbers)
    return numbers
