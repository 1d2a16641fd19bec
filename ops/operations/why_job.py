"""Reason for a job's state, from the ledger and the definitions."""

from datetime import datetime

from sluice.broker.messages import CONTROL
from sluice.jobs.model.names import JobName
from sluice.ledger.reads.obstacles import obstacles
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.why.answer import Explanation
from sluice.ops.why.explain import explain
from sluice.planner.keyspaces.choose import keyspace_of


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
