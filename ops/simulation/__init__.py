"""Simulation: the real handlers on a real ledger, in one thread and in virtual time. The network and the workers fail
as requested.

The package replaces time, the network and the deaths of processes, and no part of the system itself. A seed decides
all that happens, so that every failure can be repeated::

    faults          faults, and all other random choices          event_queue   events by their time
    installation    handlers, messages in transit, workers        workers       one worker
    mortal_ledger   a ledger with deaths around a commit          work          duration and outcome of jobs
    flights         runs of sagas, on ``fibers``                  describe      descriptions of faults

No two things happen at the same time. Each random choice is drawn by the name of its occasion (the message, or the
process and its transaction) and not from one stream. So leaving out a fault changes only the consequences of that
fault.

``pipeline`` is a simulation for the tests of users. Their tests reach it through the pytest fixture of the same name
(``plugin``) and import nothing from here. The tests of Sluice draw random worlds on the same engine and check them
(tests/simulation).
"""
