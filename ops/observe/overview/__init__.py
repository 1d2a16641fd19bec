"""Overview of the whole installation: counts, queues, workers and alerts.

``page`` makes the document of the page, ``queues`` describes a queue, and ``alarms`` decides when an operator is
alerted. The cost depends on the size of the page and not on the size of the ledger, because it is requested every
second.
"""
