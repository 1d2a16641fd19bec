"""Baselines for planning: the rows of a plan written by COPY, and its graph built by networkx, without working out
either.
"""

import time

import networkx

from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger


def copied_s(ledger: Ledger) -> float:
    """Measure how long COPY takes until the rows of all jobs and needs are committed, in seconds.

    The rows have their final form. They are written into empty tables with the same indexes and constraints.
    """
    rows = ledger.transact(fixtures.planned_rows)
    ledger.transact(fixtures.make_twins)
    began = time.perf_counter()
    ledger.transact(lambda tx: fixtures.copy_to_twins(tx, rows))
    return time.perf_counter() - began


def drawn_s(ledger: Ledger) -> float:
    """Measure how long it takes to build the graph of all jobs in memory, in seconds. Jobs are numbers."""
    jobs, needs = ledger.transact(fixtures.planned_graph)
    began = time.perf_counter()
    graph = networkx.DiGraph()
    graph.add_nodes_from(jobs)
    graph.add_edges_from(needs)
    return time.perf_counter() - began
