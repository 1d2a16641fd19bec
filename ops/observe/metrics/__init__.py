"""Metrics in the text format of Prometheus, for ``GET /metrics`` of the console and for ``sluice metrics``.

Every number is of the whole installation, whichever process returns it. So one console is enough; the sum over two
consoles would be twice the truth. A read costs the ledger a few small statements, however many jobs exist. No label
names a job: labels are apps, states, queues and kinds.

    families         definitions of the metrics      exposition       the text format
    ledger_metrics   current values                  broker_metrics   messages that wait at the broker
    collect          all of them together            table            the table in docs/observe.md
"""
