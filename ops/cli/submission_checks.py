"""Checks of a command before it requests anything.

``check`` checks a submission. ``require_same_code`` checks whether jobs would run again with the code of their last
run.
"""

from collections.abc import Iterable

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.work_id_selection import select
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Submission
from sluice.ledger.reads.submission_progress import Ran
from sluice.ops.cli.command_context import CommandDesk
from sluice.planner.bubble_up.walk import Walk, require_fit
from sluice.planner.keyspaces.chunks.chunk_keys import is_by_chunk, require_chunk_words
from sluice.planner.keyspaces.partitions.partition_keys import meant


def check(catalogue: Catalogue, submission: Submission) -> None:
    """Raise the error for which the planner would refuse the submission. Only the definitions are read, and not the
    ledger. The planner selects the work IDs of a submission that names none. A submission for a branch is not checked,
    because the definitions of the branch are in the ledger.
    """
    if submission.branch is not None:
        return
    submission = meant(catalogue, submission)
    app = catalogue.app(submission.app)
    if not is_by_chunk(app, submission):
        Walk(catalogue, 0, submission)
        return
    require_chunk_words(app, submission)
    require_fit(app, submission.policy)
    if submission.work_ids is not None:
        select(app, submission)


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
