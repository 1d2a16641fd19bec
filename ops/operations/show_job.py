"""A job's document as ``sluice show`` prints it, by the loaded definitions."""

from typing import Any

from sluice.jobs.keys.calendar import Calendar
from sluice.ledger.reads.job_details import Dossier
from sluice.ops.documents.job_document import as_document
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.sagas import is_saga


def document_of(desk: OperatorContext, found: Dossier) -> dict[str, Any]:
    return as_document(found, calendar_of(desk, found.job.app), is_saga=is_saga(desk, found))


def calendar_of(desk: OperatorContext, app: str) -> Calendar | None:
    partitioning = desk.catalogue[app].partitioning if desk.settings.apps and app in desk.catalogue else None
    return partitioning.calendar if partitioning else None
