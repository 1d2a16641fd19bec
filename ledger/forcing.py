"""Forcing of an undo that has failed for good: it counts as done, because a person has done it by hand.

Race with a rerun of the flight: both lock the job's row, and forcing requires that the job is ``fatal`` and that the
failed undo is the last entry. So the second transaction finds the job waiting, or finds the undo done, and is refused.
"""

from msgspec import Struct

from sluice.jobs.ref import Claim, JobName
from sluice.jobs.sagas.entry import Direction, Entry, Mark
from sluice.jobs.states import State
from sluice.ledger import journal
from sluice.ledger.connection import Tx

_HOLD = f"""
SELECT id, claim, flight FROM job
WHERE app = %(app)s AND key = %(key)s AND state = '{State.FATAL}' AND flying FOR UPDATE
"""


class Forced(Struct, frozen=True):
    """Step with an undo that counts as done, out of ``steps``."""

    step: int
    name: str
    steps: int


def force_done(tx: Tx, name: JobName, by: str) -> Forced | None:
    """Write to the journal of a ``fatal`` saga that its failed undo is done; return None if no undo of it has failed.

    The flight goes on when the job is run again.
    """
    held = tx.rows(_HOLD, app=name.app, key=name.key)
    if not held:
        return None
    job, claim, flight = held[0]
    last = journal.last(tx, job)
    if last is None or last.mark is not Mark.DISMAL:
        return None
    entry = Entry(
        seq=last.seq + 1,
        step=last.step,
        name=last.name,
        steps=last.steps,
        direction=Direction.UNDO,
        mark=Mark.FORCED,
        working=last.working,
        note=by,
    )
    journal.append(tx, Claim(job, claim), flight, entry)
    return Forced(last.step, last.name, last.steps)
