"""Reruns of jobs that have ended."""

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Rerun, Submission
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.reads import job_details, submission_progress
from sluice.ledger.reads.obstacles import Pieces, pieces
from sluice.ledger.reads.submission_progress import Ran
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.text import command

#: Maximum number of failed pieces of a split job that the error names.
NAMED_MAX = 3


def ended_job(context: OperatorContext, installation: Installation, app: str, key: str) -> Ran:
    """Return a job that can be run again. BadRequest if it has not ended, or if its halves run in its place."""
    name, unknown = meant_job(context, installation, app, key)
    if unknown:
        raise unknown
    found = installation.ask(lambda tx: submission_progress.of_job(tx, name))
    if found is None:
        raise BadRequest(f"The ledger has no job {name}.", advice=f"`{command('submit', name)}` requests it.")
    if found.state not in TERMINAL:
        raise BadRequest(
            f"{name} is {found.state}; only finished jobs can be run again.",
            advice=f"`{command('why', name)}` shows what it waits for.",
        )
    if found.state is State.SPLIT:
        job = installation.ask(lambda tx: job_details.job(tx, name))
        raise _was_split(name, installation.ask(lambda tx: pieces(tx, job.id)) if job else Pieces())
    return found


def again(job: Ran, rerun: Rerun) -> Submission:
    """Return the submission that runs a job again. Failed parents run again with it.

    A partition job that has not succeeded may have made some of its partitions. The submission has no ``rerun`` then,
    so these partitions stay as they are.
    """
    is_anew = not job.is_step or rerun == "downstream" or job.state is State.SUCCEEDED
    return Submission(app=job.app, key=job.key, rerun=rerun if is_anew else None)


def _was_split(name: JobName, found: Pieces) -> BadRequest:
    """Return the error for a split job. It is never run again as a whole, because most of it may have succeeded."""
    again = [f"`{command('retry', each.name)}`" for each in found.dead]
    more = f" ({len(again) - NAMED_MAX} more: `{command('why', name)}`)" if len(again) > NAMED_MAX else ""
    return BadRequest(
        f"{name} was split, and its halves run in its place.",
        advice=f"Run its failed pieces again: {', '.join(again[:NAMED_MAX])}{more}."
        if again
        else f"None of its pieces has failed; `{command('why', name)}` shows their progress.",
    )
