"""Abortion of a running saga, and forcing of an undo that has failed.

If a flight is aborted, the effects of the started saga are undone before it ends (``abort_reason``). An undo that has
failed for good can be forced: it counts as done, because a person has done it by hand (``force_done``).

Invariants of aborted flights: a job that is ``saga_open`` is neither cancelled nor expired. It gets an ``abort_reason``
instead. Its run notices this at the next boundary between two steps, or when it resumes the flight. If the last step of
the flight is done, it is too late, and the job succeeds. A flight that is already being undone continues to be. The
judgement of the flight's end decides the state of the job.

Races:

- A cancellation against a run that is handed back or lost. In any state the job keeps its ``abort_reason``, and the
  next run reads it.
- A cancellation against the entry of the last step: see ``ledger.sagas.journals``.
- A cancellation against the end of a run that asked to wait, or ``end_before`` against a wait: see
  ``ledger.sagas.suspension``.
- A new request for a job while it is undone: the judgement finds the request, and the job starts again
  (``ledger.lifecycle.judgements``).
- Forcing against a rerun of the flight: both lock the job's row. Forcing requires that the job is ``fatal`` and that
  the failed undo is the last entry. So the second transaction finds the job waiting, or finds the undo done, and is
  refused.

A crash leaves nothing.
"""

from msgspec import Struct

from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.sagas.journal import Direction, EntryResult, JournalEntry
from sluice.jobs.states import STOPPABLE, By, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.job_graph.demand import UNWANTED
from sluice.ledger.sagas import journals, suspension

_FLIES = f"CASE WHEN job.saga_open AND job.state IN ({sql_list(*sorted(STOPPABLE))}) THEN true END"
_CONDITIONS = {
    AbortReason.UNWANTED: UNWANTED,
    AbortReason.CANCELLED: "true",
    AbortReason.EXPIRED: f"job.end_before <= {NOW}",
}
# ``UNWANTED`` is the weakest reason, because it may cease to apply, so the other reasons overwrite it.
_ABORT = {
    why: f"""
    WITH held AS MATERIALIZED (
        SELECT id FROM job
        WHERE id = ANY(%(jobs)s) AND {_FLIES} AND coalesce(abort_reason = '{AbortReason.UNWANTED}', true)
            AND ({condition})
        ORDER BY id FOR UPDATE
    )
    UPDATE job SET abort_reason = '{why}' FROM held WHERE job.id = held.id RETURNING job.id
    """
    for why, condition in _CONDITIONS.items()
}


def abort(tx: Tx, by: By, jobs: list[int], why: AbortReason) -> None:
    """Have the ``saga_open`` jobs among these undone. Suspended ones among them resume for that."""
    turned = tx.column(_ABORT[why], jobs=jobs)
    suspension.resume_aborted(tx, by, turned)


_HOLD = f"""
SELECT id, claim, flight FROM job
WHERE app = %(app)s AND key = %(key)s AND state = '{State.FATAL}' AND saga_open FOR UPDATE
"""


class ForcedUndo(Struct, frozen=True):
    """Step with an undo that counts as done, out of ``steps``."""

    step: int
    name: str
    steps: int


def force_done(tx: Tx, name: JobName, by: str) -> ForcedUndo | None:
    """Write to the journal of a ``fatal`` saga that its failed undo is done; return None if no undo of it has failed.

    The flight goes on when the job is run again.
    """
    held = tx.rows(_HOLD, app=name.app, key=name.key)
    if not held:
        return None
    job, claim, flight = held[0]
    last = journals.last(tx, job)
    if last is None or last.result is not EntryResult.UNDO_FAILED:
        return None
    entry = JournalEntry(
        seq=last.seq + 1,
        step=last.step,
        name=last.name,
        steps=last.steps,
        direction=Direction.UNDO,
        result=EntryResult.FORCED,
        working=last.working,
        note=by,
    )
    journals.append(tx, Claim(job, claim), flight, entry)
    return ForcedUndo(last.step, last.name, last.steps)
