"""The real handlers on a real ledger, in one thread, under a virtual clock and a hostile network.

What is simulated is time, the network and the deaths of processes; nothing of the system itself is. A
seed decides everything that happens, so a failing one replays exactly:

    python -m tests.simulation --seed 4711
"""
