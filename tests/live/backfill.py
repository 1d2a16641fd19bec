"""Two tables, one made from the other in steps of another size.

Each partition leaves a line when it is begun, and one when the ledger has acknowledged it.
"""

import os

from sluice import app
from sluice.jobs.model.job import Job
from tests.appending import append


def _note(word: str, job: Job, partition: str) -> None:
    append(os.environ["EFFECTS"], f"{word} {job.app} {partition} {job.claim} {os.getpid()}")


def _make(job: Job) -> None:
    for partition in job.partitions:
        _note("begun", job, partition)
        job.done(partition)
        _note("done", job, partition)


@app(output_table="raw", step_size=10, max_losses=1000)
def collect(job: Job) -> None:
    _make(job)


@app(
    output_table="clean",
    step_size=7,
    table_dependencies=[{"table": "raw", "start_offset": 2}],
    max_losses=1000,
)
def cleanse(job: Job) -> None:
    _make(job)
