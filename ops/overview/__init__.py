"""The whole installation at a glance: counts, queues, workers, and what somebody ought to see to.

Owns what belongs on one page (``page``), what a queue is to an operator (``queues``), and when he is to be told
(``alarms``). What holds: it costs what it shows, whatever lies in the ledger, for it is asked for every second.
"""
