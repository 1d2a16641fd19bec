"""Autoscaler that keeps as many workers on this machine as there is work for, within bounds.

``decision`` computes the number of workers of a target from observations, without a clock. ``workers`` owns the
processes, and the guard that stops them if the autoscaler dies. ``controller`` is the loop.

- The number of workers never exceeds the upper bound. Workers that are stopping count.
- A worker is asked to stop once. It finishes its jobs within its grace time. It is killed only if the user asks twice
  for the end of all workers.
- No worker is stopped while the ledger is unreachable or refuses the query.

The package contains no SQL and no messages. It reads the demand from ``ops.documents.backlog``, like any other client.
"""
