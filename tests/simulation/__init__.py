"""Simulation: the real handlers on a real ledger, in one thread, under a virtual clock and a hostile network.

Only time, the network and the deaths of processes are simulated, and no part of the system itself. A seed determines
everything that happens, so a failing seed replays exactly:

    python -m tests.simulation --seed 4711
"""
