"""Suspended jobs resume: their event has come, a user resumes them, or their wait has timed out.

Invariant between transactions: no job is suspended while an event exists that it waits for and that no entry of its
journal has taken. No job is suspended while its flight must be undone and the undoing has not started.

Races:

- An event against the end of the run that asked to wait: both lock the job's row. Either the run searches for events
  after this one was written and finds it, or the transaction with the event finds the job suspended.
- A cancellation against that end: it finds the job suspended, or the run finds the flight called off.
- An event against the timeout, or two events for one wait: the first one resumes the job, and the second one finds it
  no longer suspended. Its event stays for the next wait. The run decides whether the wait timed out, and an event that
  exists by then takes precedence.

A crash leaves nothing, because each operation is one transaction.
"""

from sluice.jobs.sagas.journal import Direction
from sluice.jobs.states import RESUME, By, State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW, move
from sluice.ledger.job_graph.readiness import ReadyJob, make_ready
from sluice.ledger.sagas.journals import LAST

# It is due from now on, so jobs that became due during its wait come first.
_GOES_ON = f"event = NULL, not_before = least(job.not_before, {NOW})"
_HAS_COME = """
EXISTS (SELECT 1 FROM saga_signal
        WHERE saga_signal.job = job.id AND saga_signal.flight = job.flight
          AND (saga_signal.name IS NULL OR job.event IS NULL OR saga_signal.name = job.event)
          AND NOT EXISTS (SELECT 1 FROM saga_journal WHERE saga_journal.event = saga_signal.id))
"""
# A flight that is already being undone continues to wait.
_TURNS = f"job.abort_reason IS NOT NULL AND coalesce((SELECT direction = '{Direction.DO}' FROM ({LAST}) last), true)"
_OVER = f"job.not_before <= {NOW}"

_RESUME = move(RESUME, By.PLANNER, sets=_GOES_ON)
_RESUME_EARLY = move(
    RESUME, By.EXECUTOR, sets=_GOES_ON, condition=f"{_HAS_COME} OR {_TURNS}", note="'no wait is needed'"
)
_RESUME_TOLD = move(RESUME, By.GROOMER, sets=_GOES_ON, condition=_HAS_COME)
_RESUME_TURNED = {by: move(RESUME, by, sets=_GOES_ON, condition=_TURNS) for by in (By.PLANNER, By.GROOMER)}
_RESUME_LATE = move(RESUME, By.GROOMER, sets=_GOES_ON, condition=_OVER, note="'its wait timed out'")
#: Query for jobs with a wait that has timed out. The groomer uses it too.
LATE = f"""
SELECT id FROM job WHERE state = '{State.SUSPENDED}' AND not_before <= (SELECT {NOW})
ORDER BY not_before LIMIT %(limit)s
"""


def resume(tx: Tx, jobs: list[int]) -> list[ReadyJob]:
    """Resume the suspended jobs among these, in their present round. Return the jobs that may run now."""
    return make_ready(tx, By.PLANNER, tx.column(_RESUME, jobs=jobs))


def resume_early(tx: Tx, jobs: list[int]) -> list[ReadyJob]:
    """Resume jobs that this transaction has suspended but that need not wait. Return the jobs that may run now."""
    return make_ready(tx, By.EXECUTOR, tx.column(_RESUME_EARLY, jobs=jobs))


def resume_signalled(tx: Tx, jobs: list[int]) -> None:
    """Resume the suspended jobs among these for which an awaited event exists. The groomer releases them."""
    tx.rows(_RESUME_TOLD, jobs=jobs)


def resume_aborted(tx: Tx, by: By, jobs: list[int]) -> None:
    """Resume the suspended jobs among these that must be undone. The groomer releases them."""
    tx.rows(_RESUME_TURNED[by], jobs=jobs)


def resume_late(tx: Tx, limit: int) -> None:
    """Resume at most ``limit`` jobs with a wait that has timed out. The groomer releases them."""
    tx.rows(_RESUME_LATE, jobs=sorted(tx.column(LATE, limit=limit)))
