"""Cancellation of one job, regardless of the submissions that request it."""

from typing import NamedTuple

from sluice.actors.client import Client
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import saga_details
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.text import command


class Stopped(NamedTuple):
    """Result of a cancellation: the number of stopped jobs, and of sagas that are undone first."""

    name: JobName
    jobs: int
    undone: int


def cancel_job(
    context: OperatorContext, installation: Installation, client: Client, app: str, key: str
) -> Stopped:
    """Cancel a job. BadRequest if nothing of it is left to cancel."""
    name, unknown = meant_job(context, installation, app, key)
    stopped = len(client.cancel_job(name))
    undone = 0 if stopped else installation.ask(lambda tx: undone_first(tx, name))
    if not stopped and not undone:
        raise unknown or BadRequest(
            f"{name} has nothing left to cancel.", advice=f"`{command('why', name)}` shows the reason."
        )
    return Stopped(name, stopped, undone)


def undone_first(tx: Tx, name: JobName) -> int:
    """Return 1 if the job is a saga that is undone first and cancelled after that, otherwise 0."""
    return int(saga_details.is_aborting(tx, name))
