"""Check of a submission before a command requests it."""

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.work_id_selection import select
from sluice.jobs.model.submission import Submission
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
