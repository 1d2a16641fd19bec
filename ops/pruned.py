"""What is said of a job whose history is not there any more."""

from sluice.ledger.reads.dossier import Job
from sluice.ops.times import moment


def removed(job: Job) -> str:
    """Empty where all of it is there."""
    if job.pruned_at is None:
        return ""
    until = "how it came to its end" if job.is_pruned else "what happened to it before"
    return f"{until} was removed at {moment(job.pruned_at)} UTC, for its age"
