"""Announcement of ready jobs by messages on the queues of their apps."""

from collections.abc import Sequence
from datetime import datetime

from sluice.broker.messages import Ended, Execute, JobRound, Message
from sluice.jobs.states import By
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph.readiness import ReadyJob
from sluice.ledger.limits import pools
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.stats import runtimes
from sluice.planner.batches import parcels

#: Maximum number of ready jobs that one transaction announces again.
AGAIN_MAX = 1000


def tell(ended: list[int]) -> list[Message]:
    """Return a message that has the children of these jobs notified. The jobs have ended without a judgement."""
    return [Ended(jobs=tuple(ended))] if ended else []


def announce(tx: Tx, ready: list[ReadyJob], by: By = By.PLANNER) -> list[Execute]:
    """Return one message for each batch of ready jobs. They are sent after the commit, but the ledger already counts
    them as sent.

    Call this last in a transaction: it also gives the slots of pools that the transaction has freed to waiting jobs.
    """
    ready = ready + pools.admit(tx, by)
    known_s = runtimes.known_s(tx, [job.app for job in ready]) if len(ready) > 1 else {}
    return [
        Execute(app=parcel.app, jobs=tuple(JobRound(job.job, job.round) for job in parcel.jobs))
        for parcel in parcels(ready, known_s)
    ]


def announce_again(tx: Tx, *, app: str, before: datetime, by: By = By.PLANNER) -> Sequence[Message]:
    """Return notifications of ready jobs of an app that were last announced before this time, up to ``AGAIN_MAX``."""
    return announce(tx, groomer_steps.announce_ready(tx, AGAIN_MAX, before=before, apps=[app]), by)
