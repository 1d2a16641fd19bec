"""Check whether jobs would run again with the code of their last run."""

from collections.abc import Iterable

from sluice.jobs.errors import BadRequest
from sluice.ledger.reads.submission_progress import Ran
from sluice.ops.cli.desk import CommandDesk

#: Maximum number of jobs with different code that the error names.
NAMED_MAX = 3


def require_same_code(desk: CommandDesk, jobs: Iterable[Ran]) -> None:
    """Raise BadRequest if the local definitions or checkout differ from the last run. The check is only valid for this
    machine, because workers elsewhere may have loaded other code.
    """
    others = [f"{job.name}: {reason}" for job in jobs if (reason := _difference(desk, job))]
    if others:
        more = f"; and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
        raise BadRequest(
            f"The code has changed. {'; '.join(others[:NAMED_MAX])}{more}.",
            advice="Check the old version out and restart the workers, or add --force.",
        )


def _difference(desk: CommandDesk, job: Ran) -> str:
    """Return the difference. Empty for a job that never ran, or without a known difference."""
    if job.is_pruned:
        return "its history was removed, including the version of its code"
    if job.digest is None:
        return ""
    if job.app not in desk.catalogue:
        return f"the app {job.app} no longer exists"
    if job.digest != desk.catalogue[job.app].digest:
        return f"the definition of {job.app} has changed since it ran"
    now = desk.settings.code_version
    if job.code and now and job.code != now:
        return f"it ran with code {job.code}, and the current code is {now}"
    return ""
