"""Explanation of a job's state, with its obstacles and the remedies.

``explain`` answers for any job. ``live`` and ``terminal`` have a function for each state. ``parents``, ``queue`` and
``submissions`` have the texts about parents, queues and submissions. All of it is pure: the facts come from
``ledger.reads.obstacles``. The texts follow from states that the ledger has settled, and repeat no rule of the planner.
"""
