"""The graph of one live job and its relatives, from the ledger."""

from ledger.reads.kinship import Kinship
from ops.graph.graph import Edge, Graph, Node


def job_graph(found: Kinship) -> Graph:
    """One job with everything above and below it that the ledger has."""
    return Graph(
        tuple(Node(str(job.name), str(job.name), job.state) for job in found.jobs),
        tuple(sorted(Edge(str(need.parent), str(need.child), need.group) for need in found.needs)),
    )
