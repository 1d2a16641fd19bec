"""Ready jobs become messages on their apps' queues."""

from broker.messages import Execute, Turn
from ledger import judging
from ledger.connection import Tx
from ledger.release import Ready
from planner.parcel import parcels


def announce(tx: Tx, ready: list[Ready]) -> list[Execute]:
    """One message a parcel. They are sent after the commit; the ledger already counts them as sent."""
    if not ready:
        return []
    paces_s = judging.paces_s(tx, [job.app for job in ready])
    return [
        Execute(app=parcel.app, jobs=tuple(Turn(job.job, job.round) for job in parcel.jobs))
        for parcel in parcels(ready, paces_s)
    ]
