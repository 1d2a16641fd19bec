"""Rules about partitions: each is made once, by one job, and exists after that job has succeeded."""

from collections.abc import Iterator

from sluice.jobs.states import SUCCEED, State
from tests.chaos.history import History


def partitions_are_made_once(history: History) -> Iterator[str]:
    """Check that no job that fills a table has succeeded twice, unless a submission requested a rerun."""
    asked = {submission.number for submission in history.rows.submissions if submission.rerun is not None}
    anew = {want.job for want in history.rows.wants if want.submission in asked}
    for job in history.rows.jobs:
        won = [step.claim for step in history.steps_of.get(job.id, []) if step.verb == SUCCEED.name]
        if job.output_table is not None and len(won) > 1 and job.id not in anew:
            yield f"{job.name} has filled its part of {job.output_table} by claims {won}"


def partitions_belong_to_who_made_them(history: History) -> Iterator[str]:
    """Check that each owner of a partition exists, and that the partitions of a succeeded job exist.

    A partition of a job that has never run may have been made outside.
    """
    for each in history.rows.partitions:
        job = history.jobs.get(each.job) if each.job is not None else None
        which = f"{each.table_name} {each.partition}"
        if each.job is not None and job is None:
            yield f"{which} belongs to a job that does not exist"
        elif job is not None and job.state is State.SUCCEEDED and not each.is_there:
            yield f"{which} is missing, although {job.name} has succeeded"
