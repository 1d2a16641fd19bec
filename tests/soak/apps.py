"""What soaks: as little work as there can be."""

from sluice import app
from sluice.jobs.job import Job


@app(job_id="{n}")
def first(job: Job) -> None:
    """It does nothing."""


@app(job_id="{n}", depends_on={"app_name": ["first"]})
def second(job: Job) -> None:
    """Nor does this."""
