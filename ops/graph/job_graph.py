"""Graph of one live job with its upstream and downstream jobs, from the ledger."""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from sluice.ledger.reads.job_details import Kinship
from sluice.ops.graph.model import Edge, Graph, Node
from sluice.ops.text import moment


def job_graph(found: Kinship) -> Graph:
    """Return the graph of one job with everything upstream and downstream of it, as far as that was read."""
    nodes = {str(kin.name): Node(kin.app, kin.key, kin.state, kin.since) for kin in found.jobs}
    edges = [
        Edge(str(need.parent), str(need.child), need.group, need.when, need.added) for need in found.needs
    ]
    return Graph(
        tuple(nodes[id_] for id_ in _parents_first(nodes, edges)),
        tuple(sorted(edges)),
        title=f"{found.name} as of {moment(found.now)} UTC",
        note=_left_out(found),
        focus=str(found.name),
    )


def _parents_first(ids: Iterable[str], edges: Iterable[Edge]) -> list[str]:
    """Return the IDs with parents first, and by name within a level.

    Jobs never wait in a cycle. If a defect results in a cycle, the jobs are in the order of their names, so that
    the cycle is drawn.
    """
    sorter = TopologicalSorter[str](dict.fromkeys(ids, ()))
    for edge in edges:
        sorter.add(edge.target, edge.source)
    try:
        sorter.prepare()
    except CycleError:
        return sorted(ids)
    ordered: list[str] = []
    while ready := sorted(sorter.get_ready()):
        ordered += ready
        sorter.done(*ready)
    return ordered


def _left_out(found: Kinship) -> str:
    above, below = found.cut_above, found.cut_below
    return " ".join(
        [
            *([f"Only the nearest {above} upstream jobs are drawn."] if above else []),
            *([f"Only the nearest {below} downstream jobs are drawn."] if below else []),
        ]
    )
