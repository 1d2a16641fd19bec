"""The graph of one job as it stands in the ledger."""

from jobs.errors import BadRequest
from ledger.reads.kinship import kinship
from ops.desk.desk import Desk
from ops.desk.installation import Installation
from ops.desk.meant import meant_job
from ops.graph.graph import Graph
from ops.graph.jobs import job_graph
from ops.words import command


def live_graph(desk: Desk, installation: Installation, app: str, key: str) -> Graph:
    """BadRequest where the ledger has no such job."""
    name, unknown = meant_job(desk, installation, app, key)
    found = installation.ask(lambda tx: kinship(tx, name))
    if found is None:
        raise unknown or BadRequest(
            f"The ledger has no job {name}.",
            advice=f"`{command('plan', name)}` shows what would be.",
        )
    return job_graph(found)
