"""Adding, some numbers a task: ``python -m sluice.jobs.examples.sum 10 100 3`` beside
``sluice --apps jobs/examples/sum/apps.yaml up``.

``run.sh`` is the program that a task runs; the manager, who opens tasks and makes new ones of what they came to, is
``__main__``.
"""
