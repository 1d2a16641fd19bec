"""Judging: executed jobs change state according to their outcome. Ended jobs enter the propagation outbox.

Preconditions: the jobs are ``executed``, and each has one round with a recorded ending. Of two judges of the same jobs,
the second waits for the row locks, finds no job ``executed``, and does nothing. A crash before the commit leaves
everything to the next judge. After the commit, ``owed`` has the ended jobs that were not propagated, and the groomer
starts their propagation.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta

import msgspec

from sluice.jobs.model.judgement import Case, Verdict
from sluice.jobs.sagas.abort_reasons import TurnBack
from sluice.jobs.states import CALL_OFF, CONDEMN, FAIL, OVERRUN, RETRY, SUCCEED, By
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW, guard, move
from sluice.ledger.keyspaces import freshness, partitions
from sluice.ledger.lifecycle import dependencies
from sluice.ledger.lifecycle.demand import UNWANTED
from sluice.ledger.lifecycle.readiness import ReadyJob, release
from sluice.ledger.lifecycle.submissions import cancel_unwanted, owe
from sluice.ledger.limits.retry_budgets import BudgetOf, put_off
from sluice.ledger.sagas import compensations
from sluice.ledger.stats import runtimes

_CASES = f"""
SELECT job.id, job.app, job.key, round.ending, round.took_s, round.executed_at, job.fails, job.max_fails,
       job.end_before, coalesce(job.retry, '{{}}') AS retry, job.work_ids IS NOT NULL AS is_chunk,
       job.place IS NOT NULL AS is_step, job.undoes IS NOT NULL AS is_compensation,
       job.unbounded, job.failing, coalesce(round.final, false) AS final, round.retry_after_s,
       extract(epoch FROM round.executed_at - round.running_at)::float8 AS ran_s, job.flying, job.turn_back
FROM job JOIN round ON round.job = job.id AND round.claim = job.claim
WHERE job.id = ANY(%(jobs)s) AND {guard(SUCCEED)}
ORDER BY job.id FOR UPDATE OF job
"""
_FAILED = "fails = job.fails + 1"
_LANDED = "flying = false"
# The flight of a saga that could not be undone stays open: a rerun continues that flight.
_END = {
    SUCCEED: move(SUCCEED, By.PLANNER, sets=_LANDED),
    FAIL: move(FAIL, By.PLANNER, sets=f"{_LANDED}, {_FAILED}"),
    CONDEMN: move(CONDEMN, By.PLANNER, sets=_FAILED),
    OVERRUN: move(OVERRUN, By.PLANNER, sets=_LANDED),
    CALL_OFF: move(CALL_OFF, By.PLANNER, sets=_LANDED, note="turn_back"),
}
_NEXT_FLIGHT = f"flight = job.flight + job.flying::int, turn_back = NULL, {_LANDED}"
_TRY_AGAIN = move(
    RETRY,
    By.PLANNER,
    given="unnest(%(jobs)s::bigint[], %(not_before)s::timestamptz[], %(failing)s::int[])"
    " AS given (id, not_before, failing)",
    sets=f"{_FAILED}, round = job.round + 1, not_before = given.not_before, failing = given.failing, {_NEXT_FLIGHT}",
)
# The saga was undone because no submission requested it, and one does by now. That is no failure, and no round of its
# own.
_BEGIN_ANEW = move(
    RETRY,
    By.PLANNER,
    condition=f"job.turn_back = '{TurnBack.UNWANTED}' AND NOT ({UNWANTED})",
    sets=f"not_before = {NOW}, {_NEXT_FLIGHT}",
    note="'undone, and requested again'",
)


class JudgeResult(msgspec.Struct, frozen=True):
    """Result of judging.

    ``ended`` are the jobs that are terminal now and must be propagated, each with its app. ``failed`` are the jobs
    among them that an error ended. ``ready`` jobs are due for another round immediately.
    """

    ended: Mapping[int, str]
    failed: list[int]
    ready: list[ReadyJob]


def judge(
    tx: Tx, jobs: list[int], judge_one: Callable[[Case], Verdict], budget_of: BudgetOf = lambda _: None
) -> JudgeResult:
    """Judge the executed jobs among these."""
    cases = _cases(tx, jobs)
    verdicts = [judge_one(case) for case in cases]
    by_verb = {verb: [verdict.id for verdict in verdicts if verdict.verb is verb] for verb in _END}
    anew = tx.column(_BEGIN_ANEW, jobs=by_verb[CALL_OFF]) if by_verb[CALL_OFF] else []
    moved = {verb: tx.column(_END[verb], jobs=jobs) for verb, jobs in by_verb.items() if jobs}
    ended = [id for ids in moved.values() for id in ids]
    owe(tx, ended)
    chunks = {case.id for case in cases if case.is_chunk}
    if fresh := [job for job in moved.get(SUCCEED, []) if job in chunks]:
        freshness.record(tx, fresh)
    steps = {case.id for case in cases if case.is_step}
    if there := [job for job in moved.get(SUCCEED, []) if job in steps]:
        partitions.made(tx, there)
    undoers = {case.id for case in cases if case.is_compensation}
    stranded = compensations.undo(tx, [job for job in moved.get(SUCCEED, []) if job in undoers])
    waiting = _try_again(tx, cases, {each.id: each for each in verdicts if each.verb is RETRY}, budget_of)
    cancelled = cancel_unwanted(tx, waiting) if waiting else []
    flew = {case.id for case in cases if case.flying}
    stranded = {**stranded, **dependencies.shut(tx, [job for job in waiting + anew if job in flew])}
    owe(tx, [*stranded])
    ready = release(tx, By.PLANNER, waiting + anew)
    runtimes.note(tx, [(case.app, case.took_s) for case in cases if case.took_s is not None])
    apps = {case.id: case.app for case in cases}
    return JudgeResult(
        {**stranded, **{job: apps[job] for job in [*ended, *cancelled]}}, moved.get(FAIL, []), ready
    )


def _try_again(tx: Tx, cases: list[Case], verdicts: Mapping[int, Verdict], budget_of: BudgetOf) -> list[int]:
    """Set the jobs with these verdicts waiting for another round; return the jobs that wait."""
    if not verdicts:
        return []
    later = put_off(tx, [case for case in cases if case.id in verdicts], budget_of)
    rows = [
        (each.id, each.not_before and each.not_before + later.get(each.id, timedelta()), each.failing)
        for each in verdicts.values()
    ]
    return tx.column(_TRY_AGAIN, **arrays(rows, "jobs", "not_before", "failing"))


def _cases(tx: Tx, jobs: list[int]) -> list[Case]:
    return tx.structs(Case, _CASES, jobs=jobs)
