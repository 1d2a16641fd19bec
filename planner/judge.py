"""Verdict on a recorded outcome."""

from datetime import timedelta

from sluice.jobs.model.job import Ending
from sluice.jobs.model.judgement import Case, Verdict
from sluice.jobs.states import CANCEL_UNDONE, EXPIRE_LATE, FAIL, MARK_FATAL, RETRY, SUCCEED, Verb

#: Minimum duration in seconds of a healthy round of a long-running service. It must also be longer than the longest
#: retry delay.
HEALTHY_S_MIN = 10.0


def judge(case: Case) -> Verdict:
    """Judge by the recorded times alone, so that judging late, or twice, gives the same verdict."""
    if (end := _end(case)) is not None:
        return Verdict(id=case.id, verb=end)
    fails = _in_a_row(case) if case.unbounded else case.fails + 1
    if case.final or fails > case.max_fails:
        return Verdict(id=case.id, verb=FAIL)
    wait_s = case.retry_after_s
    if wait_s is None:
        wait_s = case.retry.wait_s(fails, seed=f"{case.app}/{case.key}")
    wait = timedelta(seconds=wait_s)
    return Verdict(id=case.id, verb=RETRY, not_before=case.executed_at + wait, consecutive_fails=fails)


def _end(case: Case) -> Verb | None:
    """Return the verb that ends the job; None after a failure, which may be retried."""
    if case.ending is Ending.UNDO_FAILED:
        return MARK_FATAL
    is_late = case.end_before is not None and case.executed_at > case.end_before
    # The effects of a saga remain, so its end counts as in time.
    if case.ending is Ending.DONE and (case.saga_open or not is_late):
        return SUCCEED
    if is_late:
        return EXPIRE_LATE
    return CANCEL_UNDONE if case.abort_reason is not None else None


def _in_a_row(case: Case) -> int:
    """Return the number of failures since the last healthy round, including this one. A healthy round that fails counts
    as the first failure."""
    is_healthy = case.ran_s > max(case.retry.longest_s, HEALTHY_S_MIN)
    return 1 if is_healthy else case.consecutive_fails + 1
