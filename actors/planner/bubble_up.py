"""Walks up to missing parents, for several submissions together: one query per step for all, and each may fail
alone."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from sluice.actors.planner import table_plans
from sluice.actors.planner.notify_rules import rules_of, store_rules
from sluice.actors.planner.walks import Refuse, arrive, attempt
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import demand, dependencies
from sluice.ledger.job_graph.dependencies import Propagated, add_to_outbox
from sluice.ledger.job_graph.readiness import ReadyJob, fail_upstream
from sluice.ledger.keyspaces import freshness, partitions
from sluice.ledger.lifecycle import plans, requests, submissions
from sluice.planner.bubble_up.merge import merge
from sluice.planner.bubble_up.walk import Walk
from sluice.planner.keyspaces.chunks.chunk_readers import chunk_apps_of
from sluice.planner.keyspaces.partitions.refill import tables_of


class _RepeatedWalk(Walk):
    """Walk to a job that the submission requests already. The reason of that request stays."""

    _asked_as = RequestReason.PULLED


def plan_together(
    tx: Tx, catalogue: Catalogue, wanted: Iterable[tuple[int, Submission]], refuse: Refuse
) -> tuple[list[int], list[ReadyJob]]:
    """Walk and plan for these submissions. Return the numbers of the planned submissions, and the jobs that may run
    now."""
    wanted = [*wanted]
    now = _now(tx, catalogue, (submission for _, submission in wanted))
    arrived = arrive(tx, catalogue, _begun(catalogue, wanted, now, refuse), now, refuse)
    numbers = [walk.number for walk in arrived]
    submissions.activate(tx, numbers)
    store_rules(tx, catalogue, ((walk.number, walk.submission) for walk in arrived))
    told = plans.plan(tx, merge(catalogue, arrived))
    return numbers, follow_turns(tx, catalogue, told)


def follow_turns(tx: Tx, catalogue: Catalogue, told: Propagated) -> list[ReadyJob]:
    """Return the ready jobs, including jobs that become ready by another alternative. If a job lost the alternative
    that it waited for, the submissions that request it walk to the next one.

    Each job is handled once per call, and a walk chooses only alternatives that are not lost, so this ends. If jobs
    have no alternative left, the groomer has their children planned, because that is seldom defined and seldom urgent.
    """
    ready, seen, upstream_failed = told.ready, set[int](), dict(told.upstream_failed)
    while turned := [job for job in told.turned if job not in seen]:
        seen.update(turned)
        askers = requests.requesters(tx, turned)
        now = _now(tx, catalogue, (asker.submission for asker in askers))
        walks = _begun(catalogue, askers, now, _stay, kind=_RepeatedWalk)
        told = _replan(tx, catalogue, arrive(tx, catalogue, walks, now, _stay))
        # A walk that is refused leaves its job as it is, even if it cannot start any more.
        if stuck := fail_upstream(tx, turned):
            told = dependencies.together(
                [told, Propagated([], [], stuck), dependencies.propagate(tx, [*stuck])]
            )
        ready = ready + told.ready
        upstream_failed |= told.upstream_failed
    add_to_outbox(tx, [job for job, app in upstream_failed.items() if catalogue.follows_failure(app)])
    submissions.settle_blocked_by(tx, list(upstream_failed))
    return ready


def _replan(tx: Tx, catalogue: Catalogue, walks: list[Walk]) -> Propagated:
    """Plan these walks of submissions that were planned before."""
    told = plans.plan(
        tx,
        merge(catalogue, [walk for walk in walks if not catalogue.may_need_others(walk.submission.app)]),
    )
    for walk in walks:
        if catalogue.may_need_others(walk.submission.app):
            told = dependencies.together([told, _replan_with_others(tx, catalogue, walk)])
    demand.require_uncancelled(tx, {walk.number for walk in walks})
    return told


def _replan_with_others(tx: Tx, catalogue: Catalogue, walk: Walk) -> Propagated:
    """Plan a walk, and the partitions and chunks that its jobs need. Tables and apps are locked after jobs, other than
    in plans of new submissions, so a deadlock may end this transaction, which is then repeated."""
    partitions.lock_tables(tx, tables_of(catalogue, walk.submission))
    freshness.lock_apps(tx, chunk_apps_of(catalogue, walk.submission.app))
    asked = table_plans.Asked(walk.number, walk.submission)
    try:
        plan = table_plans.complete(tx, catalogue, asked, merge(catalogue, [walk]), may_wait=False)
    except BadRequest as error:
        _stay(walk.number, error.reason)
        return Propagated([], [], {})
    return table_plans.enter(tx, catalogue, plan, table_plans.nothing).told


def _now(tx: Tx, catalogue: Catalogue, wanted: Iterable[Submission]) -> datetime | None:
    """Return the time by which the age of inputs is judged. None, without a query, if no app limits it."""
    return tx.current_time() if any(catalogue.minds_age(submission.app) for submission in wanted) else None


def _begun(
    catalogue: Catalogue,
    wanted: Iterable[tuple[int, Submission]],
    now: datetime | None,
    refuse: Refuse,
    *,
    kind: type[Walk] = Walk,
) -> list[Walk]:
    """Return a walk for each submission. If definitions have changed since it was made, a submission may have none."""
    return [
        walk
        for number, submission in wanted
        if (walk := attempt(partial(_walk, kind, catalogue, number, submission, now), number, refuse))
    ]


def _walk(
    kind: type[Walk], catalogue: Catalogue, number: int, submission: Submission, now: datetime | None
) -> Walk:
    """Begin a walk. BadRequest also if the submission may not have its rules of notification."""
    rules_of(catalogue, submission)
    return kind(catalogue, number, submission, now)


def _stay(number: int, reason: str) -> None:
    """Do nothing: the job keeps waiting at the gates it has, because its submission was admitted long ago."""
