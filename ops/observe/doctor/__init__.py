"""Findings of ``sluice doctor``.

``run_probes`` runs the probes, each within a time limit. Each subject has a module that judges the observations. These
modules have no clock and no connection, except ``console`` and ``sandbox``, which also make their own observation. A
finding is one line: what, where, and what to do.
"""
