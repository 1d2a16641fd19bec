"""Coordination of the processes of one machine, whatever they run."""
