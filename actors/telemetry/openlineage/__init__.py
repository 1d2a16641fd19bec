"""Lineage by OpenLineage: which run has made which partitions, and from which other tables.

Each event is sent by plain HTTP in a request of its own. It is a small JSON document of a published schema (2-0-2). A
client library would add more than it saves, so nothing has to be installed.

Invariants:

- Each claim of a step has one START event, when its work begins. It has one COMPLETE, FAIL or ABORT event, when the
  outcome is in the ledger. The second event comes from the worker, from the planner that judges, or from the process
  that finds the worker lost. All of them use the same run ID, because it is derived from the ledger.
- No work waits for lineage. Events wait in a bounded queue. Events that do not fit are dropped, and the number is
  counted and logged.

    events      content of the events
    reporter    time of each event
    sender      transmission
"""
