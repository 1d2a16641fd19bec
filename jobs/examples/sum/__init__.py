"""Sum of many numbers, some of them per task: ``python -m sluice.jobs.examples.sum 10 100 3``.

Start ``sluice --apps jobs/examples/sum/apps.yaml up`` beside it. ``run.sh`` is the program that a task runs. The
manager is in ``__main__``: it opens tasks, and makes new tasks from their results.
"""
