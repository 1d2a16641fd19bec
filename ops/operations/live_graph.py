"""Graph of one job with the states from the ledger."""

from sluice.jobs.errors import BadRequest
from sluice.ledger.reads.job_details import kinship
from sluice.ops.graph.job_graph import job_graph
from sluice.ops.graph.model import Graph
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.text import command


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
