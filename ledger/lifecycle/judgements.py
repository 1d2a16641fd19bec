"""Judging: executed jobs change state according to their outcome. Ended jobs enter the propagation outbox.

Preconditions: the jobs are ``executed``, and each has one round with a recorded ending. Of two judges of the same jobs,
the second waits for the row locks, finds no job ``executed``, and does nothing. A crash before the commit leaves
everything to the next judge. After the commit, ``propagation_outbox`` has the ended jobs that were not propagated, and
the groomer starts their propagation.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import chain
from typing import NamedTuple

import msgspec

from sluice.jobs.model.judgement import Case, Verdict
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.states import CANCEL_UNDONE, EXPIRE_LATE, FAIL, MARK_FATAL, RETRY, SUCCEED, By, Verb
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW, guard, move
from sluice.ledger.job_graph import dependencies, expansions
from sluice.ledger.job_graph.demand import UNWANTED
from sluice.ledger.job_graph.dependencies import Propagated, add_to_outbox
from sluice.ledger.job_graph.readiness import ReadyJob, make_ready
from sluice.ledger.keyspaces import freshness, partitions
from sluice.ledger.lifecycle.submissions import cancel_unwanted
from sluice.ledger.limits.retry_budgets import BudgetOf, delays
from sluice.ledger.sagas import compensations
from sluice.ledger.stats import runtimes


class SuccessEffect(NamedTuple):
    """Effect of a success on other rows. ``condition`` is SQL that is true for the jobs that have it, and ``kind`` the
    field of ``Case`` with the result. ``apply`` gets the succeeded jobs of this kind, and returns the consequences for
    other jobs, if there can be any."""

    kind: str
    condition: str
    apply: Callable[[Tx, list[int]], Propagated | None]


#: All effects of a success, in the order in which they are applied.
ON_SUCCESS = (
    SuccessEffect("is_chunk", "job.work_ids IS NOT NULL", freshness.record),
    SuccessEffect("is_step", "job.output_table IS NOT NULL", partitions.made),
    SuccessEffect("is_compensation", "job.undoes IS NOT NULL", compensations.undo),
    SuccessEffect("adds_jobs", "job.expansion IS NOT NULL", expansions.reopen),
)
#: SQL that is true for a job that succeeds if its run does, without any effect and whatever its history is.
IS_PLAIN = " AND ".join(
    [
        "job.end_before IS NULL AND NOT job.saga_open AND NOT job.unbounded",
        *(f"NOT ({effect.condition})" for effect in ON_SUCCESS),
    ]
)

_CASES = f"""
SELECT job.id, job.app, job.key, round.ending, round.took_s, round.executed_at, job.fails, job.max_fails,
       job.end_before, coalesce(job.retry, '{{}}') AS retry,
       {", ".join(f"{effect.condition} AS {effect.kind}" for effect in ON_SUCCESS)},
       job.unbounded, job.consecutive_fails, coalesce(round.final, false) AS final, round.retry_after_s,
       extract(epoch FROM round.executed_at - round.running_at)::float8 AS ran_s, job.saga_open, job.abort_reason
FROM job JOIN round ON round.job = job.id AND round.claim = job.claim
WHERE job.id = ANY(%(jobs)s) AND {guard(SUCCEED)}
ORDER BY job.id FOR UPDATE OF job
"""
_FAILED = "fails = job.fails + 1"
_LANDED = "saga_open = false"
# The flight of a saga that could not be undone stays open: a rerun continues that flight.
_END = {
    SUCCEED: move(SUCCEED, By.PLANNER, sets=_LANDED),
    FAIL: move(FAIL, By.PLANNER, sets=f"{_LANDED}, {_FAILED}"),
    MARK_FATAL: move(MARK_FATAL, By.PLANNER, sets=_FAILED),
    EXPIRE_LATE: move(EXPIRE_LATE, By.PLANNER, sets=_LANDED),
    CANCEL_UNDONE: move(CANCEL_UNDONE, By.PLANNER, sets=_LANDED, note="abort_reason"),
}
_NEXT_FLIGHT = f"flight = job.flight + job.saga_open::int, abort_reason = NULL, {_LANDED}"
_TRY_AGAIN = move(
    RETRY,
    By.PLANNER,
    given="unnest(%(jobs)s::bigint[], %(not_before)s::timestamptz[], %(consecutive_fails)s::int[])"
    " AS given (id, not_before, consecutive_fails)",
    sets=f"{_FAILED}, round = job.round + 1, not_before = given.not_before, "
    f"consecutive_fails = given.consecutive_fails, {_NEXT_FLIGHT}",
)
# The saga was undone because no submission requested it, and one does by now. That is no failure, and no round of its
# own.
_BEGIN_ANEW = move(
    RETRY,
    By.PLANNER,
    condition=f"job.abort_reason = '{AbortReason.UNWANTED}' AND NOT ({UNWANTED})",
    sets=f"not_before = {NOW}, {_NEXT_FLIGHT}",
    note="'undone, and requested again'",
)


class JudgeResult(msgspec.Struct, frozen=True):
    """Result of judging.

    ``ended`` are the jobs that are terminal now and must be propagated, each with its app. ``failed`` are the jobs
    among them that an error ended. ``ready`` jobs are due for another round immediately. ``turned`` jobs wait and have
    lost an alternative; the parents of their next one must be requested. ``adding`` are the ended jobs whose expansions
    must be planned.
    """

    ended: Mapping[int, str]
    failed: list[int]
    ready: list[ReadyJob]
    turned: list[int]
    adding: list[int]


def judge(
    tx: Tx, jobs: list[int], judge_one: Callable[[Case], Verdict], budget_of: BudgetOf = lambda _: None
) -> JudgeResult:
    """Judge the executed jobs among these.

    Jobs end, or wait for another round. The ends are owed to their children. A saga that was undone and is to run again
    closes the needs that it had met.
    """
    cases = {case.id: case for case in tx.structs(Case, _CASES, jobs=jobs)}
    verdicts = [judge_one(case) for case in cases.values()]
    requested_again, ended = _end(tx, verdicts)
    add_to_outbox(tx, [*chain.from_iterable(ended.values())])
    after_success = _after_success(tx, [cases[job] for job in ended.get(SUCCEED, [])])
    waiting = _try_again(tx, cases, [each for each in verdicts if each.verb is RETRY], budget_of)
    cancelled = cancel_unwanted(tx, waiting) if waiting else []
    waiting += requested_again
    blocked = dependencies.reblock(tx, [job for job in waiting if cases[job].saga_open])
    consequences = dependencies.together([*after_success, blocked])
    add_to_outbox(tx, [*consequences.upstream_failed])
    ready = make_ready(tx, By.PLANNER, waiting)
    runtimes.note(tx, [(case.app, case.took_s) for case in cases.values() if case.took_s is not None])
    over = {job: cases[job].app for job in [*chain.from_iterable(ended.values()), *cancelled]}
    adding = _adding(cases, ended)
    return JudgeResult(
        {**consequences.upstream_failed, **over}, ended.get(FAIL, []), ready, consequences.turned, adding
    )


def _end(tx: Tx, verdicts: list[Verdict]) -> tuple[list[int], dict[Verb, list[int]]]:
    """End the jobs with these verdicts. Return the undone sagas that are requested again and wait instead, and the
    ended jobs by verb."""
    by_verb = {verb: [verdict.id for verdict in verdicts if verdict.verb is verb] for verb in _END}
    called_off = by_verb[CANCEL_UNDONE]
    requested_again = tx.column(_BEGIN_ANEW, jobs=called_off) if called_off else []
    return requested_again, {verb: tx.column(_END[verb], jobs=jobs) for verb, jobs in by_verb.items() if jobs}


def _adding(cases: Mapping[int, Case], ended: Mapping[Verb, list[int]]) -> list[int]:
    """Return the succeeded jobs whose expansions must be planned."""
    return [job for job in ended.get(SUCCEED, []) if cases[job].adds_jobs]


def _after_success(tx: Tx, succeeded: list[Case]) -> list[Propagated]:
    """Apply the effects of these successes. Return their consequences for other jobs."""
    of_kind = [
        (effect, [case.id for case in succeeded if getattr(case, effect.kind)]) for effect in ON_SUCCESS
    ]
    found = [effect.apply(tx, jobs) for effect, jobs in of_kind if jobs]
    return [each for each in found if each is not None]


def _try_again(tx: Tx, cases: Mapping[int, Case], verdicts: list[Verdict], budget_of: BudgetOf) -> list[int]:
    """Set the jobs with these verdicts waiting for another round; return the jobs that wait."""
    if not verdicts:
        return []
    later = delays(tx, [cases[each.id] for each in verdicts], budget_of)
    rows = [
        (
            each.id,
            each.not_before and each.not_before + later.get(each.id, timedelta()),
            each.consecutive_fails,
        )
        for each in verdicts
    ]
    return tx.column(_TRY_AGAIN, **arrays(rows, "jobs", "not_before", "consecutive_fails"))
