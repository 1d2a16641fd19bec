"""Answers about one job, from the ledger and the definitions: its document, the reason for its state, and its graph."""

from datetime import datetime

from sluice.broker.messages import CONTROL
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.names import JobName
from sluice.ledger.reads.job_details import Dossier, kinship
from sluice.ledger.reads.obstacles import obstacles
from sluice.ops.documents.job_document import JobDocument, as_document
from sluice.ops.graph.job_graph import job_graph
from sluice.ops.graph.model import Graph
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.operations.sagas import is_saga
from sluice.ops.text import command
from sluice.ops.why.answer import Explanation
from sluice.ops.why.explain import explain
from sluice.planner.keyspaces.choose import keyspace_of


def document_of(context: OperatorContext, found: Dossier) -> JobDocument:
    """Return the job's document as ``sluice show`` prints it, by the loaded definitions."""
    return as_document(found, calendar_of(context, found.job.app), is_saga=is_saga(context, found))


def calendar_of(context: OperatorContext, app: str) -> Calendar | None:
    partitioning = (
        context.catalogue[app].partitioning if context.settings.apps and app in context.catalogue else None
    )
    return partitioning.calendar if partitioning else None


def reasons(
    context: OperatorContext, installation: Installation, app: str, key: str
) -> tuple[Explanation, datetime]:
    """Return the answer and the time for which it is valid. BadRequest if the text cannot be the name of a job."""
    name, unknown = meant_job(context, installation, app, key)
    facts = installation.ask(lambda tx: obstacles(tx, name, control=CONTROL, spellings=[key]))
    if facts.job is None and unknown:
        raise unknown
    refusal = unknown.what.rstrip(".") if unknown else _refusal(context, name)
    return explain(name, facts, refusal=refusal), facts.now


def _refusal(context: OperatorContext, name: JobName) -> str:
    """Return why a submission of the job would be refused, as far as the definitions alone decide it."""
    if not context.settings.apps:
        return ""
    if name.app not in context.catalogue:
        return ""  # It is a placeholder for an external partition.
    app = context.catalogue[name.app]
    is_unmatched = keyspace_of(app, context.catalogue).unmatched(app, name.key)
    return f"{name.key} fits none of the dependency groups of {name.app}" if is_unmatched else ""


def live_graph(context: OperatorContext, installation: Installation, app: str, key: str) -> Graph:
    """Return the graph of a job. BadRequest if the job is not in the ledger."""
    name, unknown = meant_job(context, installation, app, key)
    found = installation.ask(lambda tx: kinship(tx, name))
    if found is None:
        raise unknown or BadRequest(
            f"The ledger has no job {name}.",
            advice=f"`{command('plan', name)}` shows what would run.",
        )
    return job_graph(found)
