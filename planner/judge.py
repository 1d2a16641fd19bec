"""What follows from a recorded outcome."""

from datetime import timedelta

from jobs.outcome import Ending
from jobs.states import CONDEMN, FAIL, OVERRUN, RETRY, SUCCEED
from jobs.verdict import Case, Verdict


def judge(case: Case) -> Verdict:
    """Judge by the recorded times alone, so that judging late, or twice, gives the same verdict."""
    if case.ending is Ending.DISMAL:
        return Verdict(id=case.id, verb=CONDEMN)
    if case.end_before is not None and case.executed_at > case.end_before:
        return Verdict(id=case.id, verb=OVERRUN)
    if case.ending is Ending.DONE:
        return Verdict(id=case.id, verb=SUCCEED)
    fails = case.fails + 1
    if fails > case.max_fails:
        return Verdict(id=case.id, verb=FAIL)
    wait = timedelta(seconds=case.retry.wait_s(fails, seed=f"{case.app}/{case.key}"))
    return Verdict(id=case.id, verb=RETRY, not_before=case.executed_at + wait)
