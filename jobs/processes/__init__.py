"""Coordination of the processes of one machine, independent of the programs that they run."""
