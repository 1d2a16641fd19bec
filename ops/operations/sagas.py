"""Sagas in the ledger."""

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.journal import EntryResult, JournalEntry
from sluice.jobs.states import State
from sluice.ledger.reads.job_details import ALL, Dossier, ReadLimits
from sluice.ledger.reads.saga_details import JournalLine
from sluice.ops.documents.job_document import removed
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_records import dossier_of
from sluice.ops.text import command


def is_saga(context: OperatorContext, found: Dossier) -> bool:
    """Return whether the job is a saga. Its journal decides. Before it has one, the definitions decide, if they are
    loaded.
    """
    app = context.catalogue.get(found.job.app) if context.settings.apps else None
    return not found.flight.is_blank or (app is not None and app.saga is not None)


def saga_of(
    context: OperatorContext, installation: Installation, app: str, key: str, bounds: ReadLimits = ALL
) -> Dossier:
    """Return the records of a saga. BadRequest if the job does not exist, or is not known to be a saga."""
    found = dossier_of(context, installation, app, key, bounds)
    if not is_saga(context, found) and found.job.is_pruned:
        raise BadRequest(
            f"Whether {found.job.name} is a saga is unknown: {removed(found.job)}.",
            advice="Name the source of its definitions with --apps.",
        )
    if not is_saga(context, found):
        raise BadRequest(
            f"{found.job.name} is no saga, so it has no steps.",
            advice=f"`{command('show', found.job.name)}` shows its records.",
        )
    return found


def fatal_saga(context: OperatorContext, installation: Installation, app: str, key: str) -> Dossier:
    """Return the records of a saga in state ``fatal``, which could not be undone. BadRequest for any other job."""
    found = saga_of(context, installation, app, key)
    if found.job.state is not State.FATAL:
        raise not_fatal(found.job.name, found.job.state)
    return found


def failed_undo(
    context: OperatorContext, installation: Installation, app: str, key: str
) -> tuple[Dossier, JournalLine]:
    """Return the records of a fatal saga and the journal entry of its failed undo. BadRequest if no undo has failed."""
    found = fatal_saga(context, installation, app, key)
    if found.flight.failed_undo is None:
        raise _nothing_failed(found.job.name, found.flight.last)
    return found, found.flight.failed_undo


def not_fatal(name: JobName, state: State) -> BadRequest:
    return BadRequest(
        f"{name} is {state}: only a fatal saga has a failed undo.",
        advice=f"`{command('why', name)}` shows its state.",
    )


def _nothing_failed(name: JobName, last: JournalEntry | None) -> BadRequest:
    if last is not None and last.result is EntryResult.FORCED:
        return BadRequest(
            f"The undo of {last.name} counts as done already.",
            advice=f"`{command('saga retry-undo', name)}` continues {name} after it.",
        )
    return BadRequest(
        f"No undo of {name} has failed: its steps could not be rebuilt.",
        advice=f"Fix the function that returns its steps, then `{command('saga retry-undo', name)}`.",
    )
