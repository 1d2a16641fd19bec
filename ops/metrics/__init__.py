"""Metrics in the text format of Prometheus, for ``GET /metrics`` of the console and for ``sluice metrics``.

Every number is of the whole installation, whichever process returns it. So one console is enough; the sum over two
consoles would be twice the truth. A read costs the ledger a few small statements, however many jobs exist. No label
names a job: labels are apps, states, queues and kinds.

    families.py     definitions of the metrics      exposition.py  the text format
    numbers.py      current values                  carried.py     messages that wait at the broker
    desk.py         all of them together            table.py       the table in docs/observe.md
"""
