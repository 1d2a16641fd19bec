"""Text about the removed history of a job."""

from sluice.ledger.reads.job_details import JobRow
from sluice.ops.text import moment


def removed(job: JobRow) -> str:
    """Return which part of the history was removed, and when. Empty if nothing was removed."""
    if job.pruned_at is None:
        return ""
    until = "its history" if job.is_pruned else "its earlier history"
    return f"{until} was removed at {moment(job.pruned_at)} UTC, because of its age"
