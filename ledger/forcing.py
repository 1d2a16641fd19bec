"""An undo that has failed for good counts as done, for somebody says that he has seen to it himself.

Who races whom: one who has the flight tried again. Both hold the job's row, and this asks that the job be ``fatal`` and
the undo the last that there is: whoever comes second finds it waiting, or finds the undo done, and is refused.
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
    """The undo of this step of so many counts as done."""

    step: int
    name: str
    steps: int


def force_done(tx: Tx, name: JobName, by: str) -> Forced | None:
    """Write into the journal of a saga that could not be undone that the undo that failed is done. The flight goes
    on when the job is run again. None where no undo of it has failed."""
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
