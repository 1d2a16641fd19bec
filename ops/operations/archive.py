"""Archiving of jobs by name."""

from collections.abc import Iterable
from shlex import quote

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.states import TERMINAL
from sluice.ledger import managed_tasks
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.reads import job_details
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.text import command


def archive_named(
    context: OperatorContext, installation: Installation, ledger: Ledger, app: str, keys: Iterable[str]
) -> int:
    """Archive all of these jobs or none. Return how many. BadRequest if a job needs no collection or has not ended."""
    meant = dict(meant_job(context, installation, app, key) for key in keys)

    def work(tx: Tx) -> int:
        archived = {*managed_tasks.archive_named(tx, [*meant])}
        for name, unknown in meant.items():
            found = job_details.job(tx, name)
            if found is None or found.id not in archived:
                raise _refusal(name, found, unknown)
        return len(archived)

    return ledger.transact(work)


def _refusal(name: JobName, found: job_details.JobRow | None, unknown: BadRequest | None) -> BadRequest:
    """Return the reason why a job cannot be archived."""
    why = f"`{command('why', name)}` shows the reason."
    if found is None:
        return unknown or BadRequest(f"The ledger has no job {name}.", advice=why)
    if found.state not in TERMINAL:
        return BadRequest(f"{name} is {found.state}; only finished jobs can be archived.", advice=why)
    if not found.needs_collection:
        return BadRequest(
            f"{name} is {found.state}, and does not need to be collected.",
            advice="Only jobs with `archive: manual` are archived.",
        )
    if found.archived_at is None:
        return BadRequest(f"{name} is {found.state}, and its halves run in its place.", advice=why)
    return BadRequest(
        f"{name} is already archived.",
        advice=f"`sluice ls --app {quote(name.app)} --uncollected` lists the others.",
    )
