"""What follows from a recorded outcome."""

from datetime import timedelta

from jobs.outcome import Ending
from jobs.states import CONDEMN, FAIL, OVERRUN, RETRY, SUCCEED
from jobs.verdict import Case, Verdict

#: A round of work that never ends is healthy if it went on for longer than its longest pause, and than this.
HEALTHY_S_MIN = 10.0


def judge(case: Case) -> Verdict:
    """Judge by the recorded times alone, so that judging late, or twice, gives the same verdict."""
    if case.ending is Ending.DISMAL:
        return Verdict(id=case.id, verb=CONDEMN)
    if case.end_before is not None and case.executed_at > case.end_before:
        return Verdict(id=case.id, verb=OVERRUN)
    if case.ending is Ending.DONE:
        return Verdict(id=case.id, verb=SUCCEED)
    fails = _in_a_row(case) if case.unbounded else case.fails + 1
    if fails > case.max_fails:
        return Verdict(id=case.id, verb=FAIL)
    wait = timedelta(seconds=case.retry.wait_s(fails, seed=f"{case.app}/{case.key}"))
    return Verdict(id=case.id, verb=RETRY, not_before=case.executed_at + wait, failing=fails)


def _in_a_row(case: Case) -> int:
    """What breaks once a day has not failed for the hundredth time after a hundred days, but for the first."""
    is_healthy = case.ran_s > max(case.retry.longest_s, HEALTHY_S_MIN)
    return 1 if is_healthy else case.failing + 1
