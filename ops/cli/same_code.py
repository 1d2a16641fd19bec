"""Whether jobs would be run again by the code that they ran by the last time."""

from collections.abc import Iterable

from sluice.jobs.errors import BadRequest
from sluice.ledger.reads.reruns import Ran
from sluice.ops.cli.desk import CommandDesk

#: Of jobs whose code is another so many are named.
NAMED_MAX = 3


def require_same_code(desk: CommandDesk, jobs: Iterable[Ran]) -> None:
    """BadRequest where the definitions or the checkout at hand are others. It speaks for this machine: workers
    elsewhere may have taken up other code."""
    others = [f"{job.name}: {reason}" for job in jobs if (reason := _difference(desk, job))]
    if others:
        more = f"; and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
        raise BadRequest(
            f"The code is not what it was. {'; '.join(others[:NAMED_MAX])}{more}.",
            advice="Check the old version out and restart the workers, or add --force.",
        )


def _difference(desk: CommandDesk, job: Ran) -> str:
    """Empty for a job that never ran, or of which nothing is known to differ."""
    if job.is_pruned:
        return "its history was removed, and with it by which code it ran"
    if job.digest is None:
        return ""
    if job.app not in desk.catalogue:
        return f"there is no app {job.app} any more"
    if job.digest != desk.catalogue[job.app].digest:
        return f"the definition of {job.app} has changed since it ran"
    now = desk.settings.code_version
    if job.code and now and job.code != now:
        return f"it ran by code {job.code}, and here is {now}"
    return ""
