"""Metrics, in the text that Prometheus reads: for ``GET /metrics`` of the console, and ``sluice metrics``.

What holds: every number is of the whole installation, whichever process is asked; so one console is enough, and of two
that are read the sum would be twice the truth. It costs the ledger a few small statements, however many jobs there are.
No label names a job: there are apps, states, queues, and kinds of things.

    families.py     which metrics there are          exposition.py  how they are written
    numbers.py      what each is now                 carried.py     what waits at the broker
    desk.py         all of it together
"""
