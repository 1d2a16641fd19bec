"""What a plan comes to, made again by those who find out nothing: its rows by COPY, its graph by networkx."""

import time

import networkx

from sluice.ledger import scratch
from sluice.ledger.connection import Ledger


def copied_s(ledger: Ledger) -> float:
    """Until the rows of all jobs and needs are committed, written as they will stand, into empty tables with the same
    indexes and constraints."""
    rows = ledger.transact(scratch.planned_rows)
    ledger.transact(scratch.make_twins)
    began = time.perf_counter()
    ledger.transact(lambda tx: scratch.copy_to_twins(tx, rows))
    return time.perf_counter() - began


def drawn_s(ledger: Ledger) -> float:
    """Until the graph of all jobs, as numbers, stands in memory."""
    jobs, needs = ledger.transact(scratch.planned_graph)
    began = time.perf_counter()
    graph = networkx.DiGraph()
    graph.add_nodes_from(jobs)
    graph.add_edges_from(needs)
    return time.perf_counter() - began
