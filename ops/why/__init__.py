"""Why a job is in its state, in words: what it waits for, since when, and what would help.

``explain`` answers for any job; ``living`` and ``ended`` have a few words for each state, ``parents``, ``queue`` and
``asked`` for what these have in common. All of it is pure: the facts come from ``ledger.reads.obstacles``. Words follow
from what the ledger has settled; no rule of the planner is repeated here.
"""
