"""What a command says of a submission before anything is asked for."""

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.selecting import select
from sluice.jobs.submission import Submission
from sluice.planner.chunk_keys import is_by_chunk, require_chunk_words
from sluice.planner.confs import meant
from sluice.planner.fitting import require_fit
from sluice.planner.walk import Walk


def check(catalogue: Catalogue, submission: Submission) -> None:
    """Say at once what the planner would refuse it for. It reads the definitions alone, no ledger; which work IDs a
    submission that names none is about is for the planner to ask, and what a branch has stands in the ledger."""
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
