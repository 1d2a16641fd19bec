"""Package that an installed Sluice has in addition to ``sluice``, so that ``python -m actors.worker`` starts
a worker.
"""
