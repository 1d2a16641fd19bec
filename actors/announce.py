"""Ready jobs become messages on their apps' queues."""

from sluice.broker.messages import Ended, Execute, Message, Turn
from sluice.jobs.states import By
from sluice.ledger import paces, pools
from sluice.ledger.connection import Tx
from sluice.ledger.release import Ready
from sluice.planner.parcel import parcels


def tell(ended: list[int]) -> list[Message]:
    """Whoever has jobs ended otherwise than by judgement has their children told."""
    return [Ended(jobs=tuple(ended))] if ended else []


def announce(tx: Tx, ready: list[Ready], by: By = By.PLANNER) -> list[Execute]:
    """One message a parcel. They are sent after the commit; the ledger already counts them as sent.

    Whatever the transaction has left free in pools is given away first: this is the last that one does.
    """
    ready = ready + pools.admit(tx, by)
    known_s = paces.known_s(tx, [job.app for job in ready]) if len(ready) > 1 else {}
    return [
        Execute(app=parcel.app, jobs=tuple(Turn(job.job, job.round) for job in parcel.jobs))
        for parcel in parcels(ready, known_s)
    ]
