"""Suspended jobs go on: what they wait for has come, or somebody says that it has, or their time is up.

What holds between transactions: no job is suspended while an event is there that it waits for and that no entry of its
journal has taken, nor while its flight is to be undone and has not begun to be.

Who races whom. An event against the end of the run that asked to wait: both hold the job's row, so either the run
looks for events after that one was written, and finds it, or whoever brings it finds the job suspended. A cancellation
against that end likewise: it finds the job suspended, or the run finds it called off. An event against the timer, or
two events for one wait: the first resumes, and the second finds nobody suspended. An event stays for the next
wait then; that the time is up is for the run to say, which lets an event that is there by then go before it.
What a crash leaves: nothing, for each is one transaction.
"""

from sluice.jobs.sagas.entry import Direction
from sluice.jobs.states import RESUME, By, State
from sluice.ledger.connection import Tx
from sluice.ledger.journal import LAST
from sluice.ledger.release import Ready, release
from sluice.ledger.sql import NOW, move

# It is due from now on, and behind whoever has waited for a worker meanwhile.
_GOES_ON = f"event = NULL, not_before = least(job.not_before, {NOW})"
_HAS_COME = """
EXISTS (SELECT 1 FROM event
        WHERE event.job = job.id AND event.flight = job.flight
          AND (event.name IS NULL OR job.event IS NULL OR event.name = job.event)
          AND NOT EXISTS (SELECT 1 FROM step WHERE step.event = event.id))
"""
# One that is being undone already waits as it would have.
_TURNS = (
    f"job.turn_back IS NOT NULL AND coalesce((SELECT direction = '{Direction.DO}' FROM ({LAST}) last), true)"
)
_OVER = f"job.not_before <= {NOW}"

_RESUME = move(RESUME, By.PLANNER, sets=_GOES_ON)
_RESUME_EARLY = move(
    RESUME, By.EXECUTOR, sets=_GOES_ON, condition=f"{_HAS_COME} OR {_TURNS}", note="'it need not wait'"
)
_RESUME_TOLD = move(RESUME, By.GROOMER, sets=_GOES_ON, condition=_HAS_COME)
_RESUME_TURNED = {by: move(RESUME, by, sets=_GOES_ON, condition=_TURNS) for by in (By.PLANNER, By.GROOMER)}
_RESUME_LATE = move(RESUME, By.GROOMER, sets=_GOES_ON, condition=_OVER, note="'its time is up'")
#: Whose time is up. The groomer looks for these too.
LATE = f"""
SELECT id FROM job WHERE state = '{State.SUSPENDED}' AND not_before <= {NOW} ORDER BY not_before LIMIT %(limit)s
"""


def resume(tx: Tx, jobs: list[int]) -> list[Ready]:
    """Those of the jobs that are suspended wait for their turn again, in the round they were in."""
    return release(tx, By.PLANNER, tx.column(_RESUME, jobs=jobs))


def resume_early(tx: Tx, jobs: list[int]) -> list[Ready]:
    """Of jobs that this transaction has suspended, those that need not wait and may run now."""
    return release(tx, By.EXECUTOR, tx.column(_RESUME_EARLY, jobs=jobs))


def resume_told(tx: Tx, jobs: list[int]) -> None:
    """Those of the jobs that are suspended and have been told what they wait for; the groomer releases them."""
    tx.rows(_RESUME_TOLD, jobs=jobs)


def resume_turned(tx: Tx, by: By, jobs: list[int]) -> None:
    """Those of the jobs that are suspended and are to be undone; the groomer releases them."""
    tx.rows(_RESUME_TURNED[by], jobs=jobs)


def resume_late(tx: Tx, limit: int) -> None:
    """Those that have waited for as long as they wanted to; the groomer releases them."""
    tx.rows(_RESUME_LATE, jobs=sorted(tx.column(LATE, limit=limit)))
