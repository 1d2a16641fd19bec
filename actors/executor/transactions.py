"""The executor's two transactions: ``claim`` and ``settle``. The worker runs the jobs between them (see
``actors.executor.execution``). ``settle`` may also claim the next jobs, so that no message is needed between it and the
next claim. So may the transaction that plans jobs (``claim_planned``).

``detach`` replaces ``settle`` for external work that continues until it is stopped: the claim stays valid, without a
worker. ``record`` is for outcomes without a run in this process: claims that the process does not know, and polled
external work.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from sluice.actors.dispatch import announce, tell
from sluice.actors.planner.bubble_down import possible_pushes
from sluice.actors.planner.bubble_up import follow_turns
from sluice.actors.planner.daily_tables import makes_days
from sluice.broker.messages import Execute, Executed, Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.job import Outcome
from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.observe.failpoints import Failpoint, TransactionKind, reached
from sluice.jobs.policy.priority import in_turn
from sluice.jobs.states import By
from sluice.ledger import external_work
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.job_graph import demand, dependencies
from sluice.ledger.job_graph.demand import PossiblePushes
from sluice.ledger.job_graph.readiness import ReadyJob, open_gates
from sluice.ledger.lifecycle import claims, outcomes, plain_successes, rounds, submissions
from sluice.ledger.lifecycle.claims import NOTHING_TAKEN, ClaimedJob, ClaimResult, ClaimTerms
from sluice.ledger.lifecycle.plain_successes import NO_NEXT_APP, NextApp, PlainSuccesses
from sluice.ledger.limits import breakers
from sluice.ledger.stats import event_counters, runtimes
from sluice.ledger.stats.event_counters import CounterName


def claim(
    ledger: Ledger, catalogue: Catalogue, message: Execute, worker: UUID, *, at_once: int = 1
) -> tuple[list[ClaimedJob], Sequence[Message]]:
    """Claim jobs for a notification. Return the jobs, the most urgent first, and messages for jobs that waited for
    these to run.

    The claim takes at most ``at_once`` jobs, or as many as the notification names if that is more. The message has done
    its work once this returns.
    """

    def work(tx: Tx) -> tuple[list[ClaimedJob], Sequence[Message]]:
        turns = [(turn.job, turn.round) for turn in message.jobs]
        terms = _terms(catalogue, message.app, worker)
        _know(tx, catalogue, message.app)
        taken = claims.claim(tx, message.app, turns, terms, at_once=at_once)
        ready = dependencies.propagate(tx, taken.awaited).ready
        return taken.jobs, announce(tx, [*ready, *taken.passed_over], By.EXECUTOR)

    return ledger.transact(work, TransactionKind.CLAIM)


def detach(
    ledger: Ledger, right: Claim, handle: JSON, *, every_s: float, external_status: str
) -> Sequence[Message] | None:
    """Store the handle of started work and leave the work to polls. Return messages for jobs that waited for its start,
    or None if the claim is lost."""

    def work(tx: Tx) -> Sequence[Message] | None:
        if not external_work.detach(
            tx, right, handle, poll_interval_s=every_s, external_status=external_status
        ):
            return None
        propagated = dependencies.propagate(tx, external_work.awaited_parent(tx, right))
        return announce(tx, propagated.ready, By.EXECUTOR)

    return ledger.transact(work, TransactionKind.LEAVE)


def record(ledger: Ledger, by_claim: Mapping[Claim, Outcome]) -> tuple[Sequence[Message], list[Claim]]:
    """Record the outcomes. Return the messages that follow, and the claims that were no longer this worker's to end."""

    def work(tx: Tx) -> tuple[Sequence[Message], list[Claim]]:
        recorded = outcomes.record(tx, by_claim)
        event_counters.add(tx, {(CounterName.REFUSED, ""): len(recorded.refused)})
        return [*announce(tx, recorded.ready, By.EXECUTOR), *_news(recorded)], recorded.refused

    return ledger.transact(work, TransactionKind.RECORD)


def complete(
    ledger: Ledger, right: Claim, outcome: Outcome, *, error: str | None
) -> Sequence[Message] | None:
    """Add to a round that has committed its own success the result of the run, and its output and error after that
    commit. Return the messages that follow, or None if the success is not committed."""

    def work(tx: Tx) -> Sequence[Message] | None:
        if not rounds.complete_committed(tx, right, outcome, error=error):
            return None
        return [Executed(jobs=(right.job,)), *announce(tx, [], By.EXECUTOR)]

    return ledger.transact(work)


class Capacity(Struct, frozen=True):
    """Capacity of a worker that takes on jobs without a message: of apps that it ``serves``, ``at_once`` of them
    together. ``reserve`` is called when there are such jobs. It returns whether a thread is free to run them; a
    repeated call has no effect. Default: the thread of the caller."""

    worker: UUID
    serves: Callable[[str], bool]
    at_once: Callable[[str], int]
    reserve: Callable[[], bool] = lambda: True


class SettleResult(NamedTuple):
    """Result of ``settle``. ``refused`` are the claims that were no longer this worker's to end. ``taken`` are the jobs
    that it must run now, by these definitions."""

    messages: Sequence[Message]
    refused: list[Claim]
    taken: list[ClaimedJob]


class _MixedEndsError(Exception):
    """Some of the jobs that end need a judgement, and others have been written already. All of them must be locked
    first."""


def settle(
    ledger: Ledger,
    catalogue: Catalogue,
    by_claim: Mapping[Claim, Outcome],
    capacity: Capacity | None = None,
    *,
    names: Mapping[int, JobName] = MappingProxyType({}),
    paces_s: Mapping[str, float] | None = None,
) -> SettleResult:
    """Record the outcomes, and claim jobs that may start now. Notify the planner of what it must judge or plan.

    Jobs that need no judgement succeed here: their children are notified, and some of the children that may start are
    claimed. One commit replaces three (record, judge, claim), without a message between them. ``names`` are the
    known names of the jobs. ``paces_s`` has the current mean duration of a run by app.
    """
    pushes, apps = _pushes_and_apps(catalogue, [right.job for right in by_claim], names)

    def work(tx: Tx, *, is_mixed: bool) -> SettleResult:
        if is_mixed:
            outcomes.lock(tx, by_claim)
        next_app = _next_app(catalogue, apps, capacity)
        finished = plain_successes.finish(tx, by_claim, pushes, next_app)
        rest = {right: outcome for right, outcome in by_claim.items() if right.job not in finished.apps}
        if rest and finished.apps and not is_mixed:
            raise _MixedEndsError
        recorded = outcomes.record(tx, rest) if rest else outcomes.NOTHING
        runtimes.note(tx, [*(paces_s or {}).items()])
        pushing, ready, taken = _propagate(tx, catalogue, finished, capacity, pushes)
        ready += dependencies.propagate(tx, taken.awaited).ready + recorded.ready
        messages = [*tell(pushing), *announce(tx, ready, By.EXECUTOR)]
        event_counters.add(tx, {(CounterName.REFUSED, ""): len(recorded.refused)})
        return SettleResult([*messages, *_news(recorded)], recorded.refused, taken.jobs)

    def transact(*, is_mixed: bool) -> SettleResult:
        return ledger.transact(partial(work, is_mixed=is_mixed), TransactionKind.SETTLE)

    try:
        return transact(is_mixed=plain_successes.are_mixed(by_claim.values()))
    except _MixedEndsError:
        return transact(is_mixed=True)


def _pushes_and_apps(
    catalogue: Catalogue, jobs: Sequence[int], names: Mapping[int, JobName]
) -> tuple[PossiblePushes, set[str]]:
    """Return the children that may follow from these jobs, and the apps of the jobs if all names are known."""
    pushes = {job: possible_pushes(catalogue, names[job]) if job in names else None for job in jobs}
    apps = {names[job].app for job in jobs} if names.keys() >= {*jobs} else set[str]()
    return PossiblePushes.of(pushes), apps


def settle_alone(
    ledger: Ledger,
    catalogue: Catalogue,
    name: JobName,
    ended: tuple[Claim, Outcome],
    capacity: Capacity | None,
) -> SettleResult | None:
    """Do what ``settle`` does for the end of one job, in one round trip.

    None, and nothing is written, if that needs more statements than ``settle_jobs``, the procedure.
    """
    if makes_days(catalogue, name.app):
        return None
    pushes = PossiblePushes.of({ended[0].job: possible_pushes(catalogue, name)})
    taken = plain_successes.finish_alone(ledger, *ended, pushes, _next_app(catalogue, [name.app], capacity))
    return None if taken is None else SettleResult([], [], taken)


def _propagate(
    tx: Tx, catalogue: Catalogue, finished: PlainSuccesses, capacity: Capacity | None, pushes: PossiblePushes
) -> tuple[list[int], list[ReadyJob], ClaimResult]:
    """Propagate finished jobs to their children. Return the jobs for which the planner must plan children, the jobs
    that are ready, and the jobs that this worker has claimed instead."""
    ended = [*finished.apps]
    if not ended:
        return [], [], NOTHING_TAKEN
    # Read before the propagation, which may end the last job that a submission waits for, and so the submission.
    concerned = finished.affected or demand.affected_by(tx, ended, pushes)
    making = [job for job, app in finished.apps.items() if makes_days(catalogue, app)]
    pushing = sorted({*concerned.pushing, *making})
    dependencies.add_to_outbox(tx, pushing)
    if finished.taken:
        ready, taken = list[ReadyJob](), finished.taken
    else:
        ready, taken = _propagate_to_children(tx, catalogue, finished, capacity)
    if taken.jobs:
        reached(Failpoint.HAND_OFF_TAKEN)
    submissions.settle(tx, concerned.watching)
    return pushing, ready, taken


def _propagate_to_children(
    tx: Tx, catalogue: Catalogue, finished: PlainSuccesses, capacity: Capacity | None
) -> tuple[list[ReadyJob], ClaimResult]:
    """Propagate finished jobs to their children. Return the jobs that are ready, and the jobs that this worker has
    claimed instead."""
    keep = capacity is not None
    if finished.affected is None:
        propagated = dependencies.propagate(tx, [*finished.apps], leave_startable=keep)
    else:
        propagated = dependencies.propagate_counted(tx, finished.children, leave_startable=keep)
    taken = _claim_some(tx, catalogue, propagated.startable, capacity)
    claimed = {job.id for job in taken.jobs}
    rest = [job.job for job in propagated.startable if job.job not in claimed]
    return [*open_gates(tx, By.PLANNER, rest), *follow_turns(tx, catalogue, propagated)], taken


def _next_app(catalogue: Catalogue, apps: Collection[str], capacity: Capacity | None) -> NextApp:
    """Return the app that follows these apps if there is only one, and the terms by which the worker takes on a job of
    it. An app with a breaker must be registered before."""
    if capacity is None or any(makes_days(catalogue, app) for app in apps):
        return NO_NEXT_APP
    names = {name for app in apps if app in catalogue for name in catalogue.children_of(app)}
    if len(names) != 1:
        return NO_NEXT_APP
    name = names.pop()
    if (
        name not in catalogue
        or catalogue[name].breaker
        or not capacity.serves(name)
        or not capacity.reserve()
    ):
        return NO_NEXT_APP
    return NextApp(name, _terms(catalogue, name, capacity.worker))


def _claim_some(
    tx: Tx, catalogue: Catalogue, startable: Sequence[ReadyJob], capacity: Capacity | None
) -> ClaimResult:
    """Claim some of these jobs, and more jobs of their app. They are chosen as for a notification of them from the
    broker."""
    if not capacity or not (named := _named(catalogue, startable, capacity)):
        return NOTHING_TAKEN
    app = named[0].app
    _know(tx, catalogue, app)
    terms, at_once = _terms(catalogue, app, capacity.worker), capacity.at_once(app)
    return claims.claim_opened(tx, app, named, terms, at_once=at_once)


def claim_planned(
    tx: Tx, catalogue: Catalogue, ready: list[ReadyJob], capacity: Capacity | None
) -> tuple[list[ClaimedJob], list[ReadyJob]]:
    """Claim some of the jobs that this transaction has made ready, as for a notification of them from the broker.

    Return the claimed jobs, and the jobs that must be announced. If the process dies after the commit, the lease of the
    claims ends, as for every other claim. Measured on two cores: the client of a job of 1 ms had the result after 0.77
    of the time that it takes with a message and a transaction for the claim.
    """
    if not capacity or not (named := _named(catalogue, ready, capacity)):
        return [], ready
    app = named[0].app
    _know(tx, catalogue, app)
    turns = [(job.job, job.round) for job in named]
    terms = _terms(catalogue, app, capacity.worker)
    taken = claims.claim(tx, app, turns, terms, at_once=capacity.at_once(app))
    reached(Failpoint.PLAN_TAKEN)
    claimed = {job.id for job in taken.jobs}
    begun = dependencies.propagate(tx, taken.awaited).ready
    return taken.jobs, [*(job for job in ready if job.job not in claimed), *begun]


def _named(catalogue: Catalogue, jobs: Sequence[ReadyJob], capacity: Capacity) -> list[ReadyJob]:
    """Return the jobs to claim: the most urgent that the worker serves, and others of its app. None if no thread is
    free."""
    served = [job for job in jobs if job.app in catalogue and capacity.serves(job.app)]
    if not served or not capacity.reserve():
        return []
    first = min(served, key=in_turn)
    if first.alone:
        return [first]
    among = [job for job in served if job.app == first.app and not job.alone]
    return sorted(among, key=in_turn)[: capacity.at_once(first.app)]


def _news(recorded: outcomes.Recorded) -> list[Message]:
    executed = [Executed(jobs=tuple(recorded.executed))] if recorded.executed else []
    return [*executed, *tell(recorded.ended)]


def _terms(catalogue: Catalogue, name: str, worker: UUID) -> ClaimTerms:
    app = catalogue.get(name)
    return ClaimTerms(worker, app.digest, app.unbounded, app.saga is not None) if app else ClaimTerms(worker)


def _know(tx: Tx, catalogue: Catalogue, name: str) -> None:
    """Register the app's breaker, so that its rounds are counted from the first one. An app without a breaker costs
    nothing."""
    app = catalogue.get(name)
    if app and app.breaker:
        breakers.ensure(tx, name, app.breaker)
