"""A job's document as ``sluice show`` prints it, by the loaded definitions."""

from sluice.jobs.keys.calendar import Calendar
from sluice.ledger.reads.job_details import Dossier
from sluice.ops.documents.job_document import JobDocument, as_document
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.sagas import is_saga


def document_of(context: OperatorContext, found: Dossier) -> JobDocument:
    return as_document(found, calendar_of(context, found.job.app), is_saga=is_saga(context, found))


def calendar_of(context: OperatorContext, app: str) -> Calendar | None:
    partitioning = (
        context.catalogue[app].partitioning if context.settings.apps and app in context.catalogue else None
    )
    return partitioning.calendar if partitioning else None
