"""Partitions: each is made once, by one job, and is there once that has succeeded."""

from collections.abc import Iterator

from sluice.jobs.states import SUCCEED, State
from tests.chaos.history import History


def partitions_are_made_once(history: History) -> Iterator[str]:
    """No job that fills a table has succeeded twice, unless somebody asked to have it made anew."""
    asked = {submission.number for submission in history.rows.submissions if submission.rerun is not None}
    anew = {want.job for want in history.rows.wants if want.submission in asked}
    for job in history.rows.jobs:
        won = [step.claim for step in history.steps_of.get(job.id, []) if step.verb == SUCCEED.name]
        if job.place is not None and len(won) > 1 and job.id not in anew:
            yield f"{job.name} has filled its part of {job.place} by claims {won}"


def partitions_belong_to_who_made_them(history: History) -> Iterator[str]:
    """To a job that there is; and those of one that has succeeded are there. One that belongs to a job which has never
    run may have come from elsewhere."""
    for each in history.rows.partitions:
        job = history.jobs.get(each.job) if each.job is not None else None
        which = f"{each.place} {each.partition}"
        if each.job is not None and job is None:
            yield f"{which} belongs to a job that there is not"
        elif job is not None and job.state is State.SUCCEEDED and not each.is_there:
            yield f"{which} is not there, though {job.name} has succeeded"
