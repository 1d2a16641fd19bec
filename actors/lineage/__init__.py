"""Lineage, by OpenLineage: which run has made which partitions, out of which of other tables.

It is told by plain HTTP, one event a request. The event is a small JSON of a published shape (2-0-2), so a library for
it would bring more than it saves; nothing is to be installed.

What holds:

- One START for each claim of a step, when its work begins, and one of COMPLETE, FAIL and ABORT when the ledger has what
  it came to: from the worker, from the planner that judges, or from whoever finds that the worker was lost. They name
  the run alike, for its name follows from the ledger.
- Nobody waits for it. Events wait in a bounded queue; what does not fit is dropped, and that is counted and said.

    events.py    what an event says        lineage.py   when which is told
    post.py      how it is sent
"""
