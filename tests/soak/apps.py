"""Apps of the soak, with as little work as possible."""

from sluice import app
from sluice.jobs.model.job import Job


@app(job_id="{n}")
def first(job: Job) -> None:
    """Do nothing."""


@app(job_id="{n}", depends_on={"app_name": ["first"]})
def second(job: Job) -> None:
    """Do nothing, after ``first``."""
