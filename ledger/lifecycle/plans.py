"""Planning: enter the jobs, needs and gates of a plan into the ledger.

Races: two plans for the same keys (see ``job_graph.insertion``), and a plan against a parent that is ending (see
``job_graph.dependencies``). Other transactions cannot see the inserted rows yet. So only existing jobs are locked, and
only the children of existing and of skipped jobs are recounted after their needs have been written.

Race with the removal of old jobs (``retention.job_removal``): a job that this transaction has read may be removed
before it is locked. Then the job is inserted again, or it is missing when it is locked. In both cases the transaction
is repeated from its beginning, because the plan relies on a job that does not exist.

A crash leaves nothing, because a plan is one transaction.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, KnownJob, PlannedJob, RequestReason, RerunRequest
from sluice.jobs.states import TERMINAL, By, State, sql_list
from sluice.ledger.database.connection import ChangedMeanwhile, Tx
from sluice.ledger.job_graph import (
    demand,
    dependencies,
    expansions,
    insertion,
    known_jobs,
    priorities,
    reruns,
)
from sluice.ledger.job_graph.dependencies import Propagated
from sluice.ledger.job_graph.readiness import ReadyJob, fail_upstream, made_ready, make_ready
from sluice.ledger.job_graph.reruns import RerunJobs
from sluice.ledger.lifecycle import bisection
from sluice.ledger.limits import pauses
from sluice.ledger.limits.pauses import SubmissionMarks
from sluice.ledger.notifications import subscriptions
from sluice.ledger.notifications.subscriptions import SubscribedJob

_ENDED = sql_list(*sorted(TERMINAL))
# Lock rows that will be written FOR UPDATE from the start: upgrading a share lock invites a deadlock. Jobs that are
# less urgent than the most urgent job of the plan may be raised. If a live job is locked, all of them are: another
# transaction may end several of them together, in the order of their ids.
_IS_WRITTEN = f"""
(state = '{State.EXPECTED}' OR paused OR id = ANY(%(again)s::bigint[]) OR priority < %(priority)s
 OR coalesce(effective_deadline, 'infinity') > %(end_before)s::timestamptz)
"""
_LIVES = f"CASE WHEN state NOT IN ({_ENDED}) THEN true END"
_HOLD_WRITTEN = f"""
SELECT id FROM job
WHERE id = ANY(%(jobs)s) AND (paused OR id = ANY(%(again)s::bigint[])
    OR {_LIVES} AND EXISTS (SELECT 1 FROM job WHERE id = ANY(%(jobs)s) AND {_LIVES} AND {_IS_WRITTEN}))
ORDER BY id FOR UPDATE
"""
_HOLD = f"""
SELECT id, state, paused, coalesce({dependencies.EXPANDING}, false)
FROM job parent WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE
"""

# Waiting jobs of which every gate is dead or needs a parent that no submission has requested.
_WITHOUT_PARENTS = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.WAITING}' AND NOT unblocked AND NOT EXISTS (
    SELECT 1 FROM gate WHERE gate.child = job.id AND gate.impossible = 0 AND NOT EXISTS (
        SELECT 1 FROM need JOIN job parent ON parent.id = need.parent
        WHERE need.child = gate.child AND need.gate = gate.gate AND parent.state = '{State.EXPECTED}'))
"""


class _Entered(Struct, frozen=True):
    """A plan of which every job has a row, as its phases pass it on.

    ``older`` are the jobs that had a row before, ``fresh`` the jobs that get their needs now: they are new, or were
    only expected. Of the older jobs, ``requested_again`` have needs, ``split`` have halves, and ``held_back`` are
    paused. ``begun`` jobs are ready already. ``reruns`` have the jobs that they still concern. ``marks`` are those of
    the submissions. ``adds_jobs``: one of the older jobs has added jobs.
    """

    plan: JobPlan
    marks: SubmissionMarks
    ids: Mapping[JobName, int]
    older: Mapping[JobName, int]
    begun: list[int]
    skipped: list[PlannedJob]
    fresh: list[PlannedJob]
    requested_again: list[PlannedJob]
    split: list[int]
    held_back: list[int]
    reruns: list[tuple[RerunRequest, list[int]]]

    def numbers(self, jobs: Iterable[PlannedJob]) -> list[int]:
        return [self.ids[job.name] for job in jobs]

    @property
    def requested(self) -> set[int]:
        """Jobs that a submission requests itself, and that are not only pushed."""
        return {
            self.ids[name]
            for _, name, request_reason in self.plan.requests
            if request_reason is not RequestReason.PUSHED
        }


def plan(tx: Tx, plan: JobPlan) -> Propagated:
    """Enter a plan and return the jobs that may run now. The submissions of the plan are already active."""
    entered = _enter(tx, plan)
    also_requested, replanned = _connect(tx, entered)
    rerun_jobs, rerun_requests = _rerun(tx, entered)
    _subscribe(tx, entered, rerun_requests)
    rejoined = _rejoin(tx, entered)
    touched = sorted({*replanned, *rerun_jobs.touched})
    _lend(tx, entered, touched)
    resumed = _follow_pauses(tx, entered, [*also_requested, *rerun_jobs.jobs])
    opened = entered.numbers(filter(insertion.is_open, entered.fresh))
    may_run = {*touched, *rejoined, *opened}.difference(entered.begun)
    ready = [*resumed, *make_ready(tx, By.PLANNER, sorted(may_run)), *made_ready(tx, entered.begun)]
    return _propagate(tx, entered, touched, ready)


def _enter(tx: Tx, plan: JobPlan) -> _Entered:
    """Insert the new jobs, lock the existing ones, and wake or skip jobs that were only expected."""
    marks = pauses.lock_pauses(tx, {number for number, _, _ in plan.requests})
    made, begun = insertion.insert(tx, plan.jobs, begin=not marks.paused)
    if not tx.seen_jobs.isdisjoint(made):
        raise ChangedMeanwhile
    held = _hold(tx, plan, made, marks)
    older = held.ids
    ids = made | older
    reruns = [(rerun, _still_due(tx, rerun, ids)) for rerun in plan.reruns]
    skipped, wanted = _standing(plan, EntryState.SKIPPED), _standing(plan, EntryState.WANTED)
    insertion.skip(tx, [ids[job.name] for job in skipped])
    woken = insertion.wake(tx, [job for job in wanted if job.name in older], ids)
    is_fresh = {job.name: job.name in made or ids[job.name] in woken for job in wanted}
    return _Entered(
        plan=plan,
        marks=marks,
        ids=ids,
        older=older,
        begun=begun,
        skipped=skipped,
        fresh=[job for job in wanted if is_fresh[job.name]],
        requested_again=[job for job in wanted if not is_fresh[job.name]],
        split=held.split,
        held_back=held.paused,
        reruns=reruns,
    )


def _connect(tx: Tx, entered: _Entered) -> tuple[list[int], list[int]]:
    """Write the needs of the jobs, and the requests for them.

    Return other jobs with new requests, which are halves of split jobs, and the jobs with gates that were counted again
    because a parent may have ended before.
    """
    plan, ids, again = entered.plan, entered.ids, entered.requested_again
    dependencies.write(tx, entered.fresh, ids)
    rerun = [job for _, jobs in entered.reruns for job in jobs]
    rewired = [ids[name] for name in plan.rewired]
    asked = [*entered.requested, *rewired]
    changed = dependencies.outdated(tx, again, ids, asked=asked, again=rerun, anyway=rewired)
    dependencies.replace(tx, changed, ids)
    dependencies.mark_stale(tx, [job for job in plan.jobs if job.stale], ids)
    demand.request(
        tx, [(number, ids[name], request_reason) for number, name, request_reason in plan.requests]
    )
    halves = bisection.replace_split(tx, entered.split)
    decided = _decided(entered.fresh, entered.older.keys() | {job.name for job in entered.skipped})
    replanned = entered.numbers([*decided, *changed])
    dependencies.recount(tx, replanned)
    return halves, replanned


def _rejoin(tx: Tx, entered: _Entered) -> list[int]:
    """Give older jobs the terms of a plan that requests them again. Return the jobs that may start sooner."""
    requested = entered.requested
    again = [job for job in entered.requested_again if entered.ids[job.name] in requested]
    return insertion.rejoin(tx, again, entered.ids)


def _lend(tx: Tx, entered: _Entered, touched: list[int]) -> None:
    """Lend the urgency of jobs to their parents."""
    again = {entered.ids[job.name]: job.policy.priority for job in entered.requested_again}
    raised = priorities.raise_to(tx, again)
    lenders = entered.numbers(_lenders(entered.plan, entered.fresh, entered.older))
    priorities.lend(tx, sorted({*touched, *raised, *lenders}))


def _follow_pauses(tx: Tx, entered: _Entered, jobs: list[int]) -> list[ReadyJob]:
    """Pause or resume these jobs, and the older ones that a pause concerns, as their submissions are. Return the ready
    ones."""
    wanted_in_vain = [entered.ids[name] for name in _wanted_in_vain(entered.plan, entered.marks)]
    return pauses.apply(tx, sorted({*entered.held_back, *jobs, *wanted_in_vain}))


def _wanted_in_vain(plan: JobPlan, marks: SubmissionMarks) -> list[JobName]:
    """Return the jobs that paused submissions request."""
    return [name for number, name, _ in plan.requests if number in marks.paused]


def _propagate(tx: Tx, entered: _Entered, touched: list[int], ready: list[ReadyJob]) -> Propagated:
    """End the jobs that can no longer start, and propagate these ends and the skipped jobs.

    Submissions that request a job without the added jobs that it needs must walk to it again. So it counts as turned,
    even if these have been cancelled and it cannot start by now.
    """
    lacking = expansions.lacking_requests(tx, sorted({*touched, *entered.numbers(entered.requested_again)}))
    upstream_failed = fail_upstream(tx, [job for job in touched if job not in lacking])
    told = dependencies.propagate(tx, [*entered.numbers(entered.skipped), *upstream_failed])
    turned = dependencies.turned(tx, touched) + lacking
    if any(rerun.alone for rerun, _ in entered.reruns):
        turned += tx.column(_WITHOUT_PARENTS, jobs=touched)
    ready = _as_asked(ready, entered.plan, entered.ids) + told.ready
    return Propagated(ready, sorted({*told.turned, *turned}), {**upstream_failed, **told.upstream_failed})


def _standing(plan: JobPlan, standing: EntryState) -> list[PlannedJob]:
    return [job for job in plan.jobs if job.standing is standing]


class _HeldJob(NamedTuple):
    """Row of ``_HOLD``."""

    id: int
    state: str
    paused: bool
    is_expanding: bool


class _Held(NamedTuple):
    """Existing jobs of a plan, with the split and the paused jobs among them. ``expanding`` jobs add jobs that are not
    planned yet."""

    ids: dict[JobName, int]
    split: list[int]
    paused: list[int]
    expanding: list[int]


def _hold(tx: Tx, plan: JobPlan, made: Collection[JobName], marks: SubmissionMarks) -> _Held:
    """Lock the plan's existing jobs, so that they cannot end before this transaction does."""
    older = [job.name for job in plan.jobs if job.name not in made]
    known = known_jobs.find(tx, older)
    if not older:
        return _held({}, [])
    _lock_pauses(tx, plan, known, marks)
    ids = {name: job.id for name, job in known.items()}
    written = [*plan.held, *(name for rerun in plan.reruns for name in rerun.names)]
    again = [*ids.values()] if marks.notifying else [ids[name] for name in written if name in ids]
    tx.rows(_HOLD_WRITTEN, jobs=list(ids.values()), again=again, **_most_urgent(plan))
    held = _held(ids, [_HeldJob(*row) for row in tx.rows(_HOLD, jobs=list(ids.values()))])
    if len(held.ids) < len(older):
        raise ChangedMeanwhile
    # Nothing requested the jobs that they add, and now something may.
    dependencies.add_to_outbox(tx, held.expanding)
    return held


def _lock_pauses(tx: Tx, plan: JobPlan, known: Mapping[JobName, KnownJob], marks: SubmissionMarks) -> None:
    """Lock the pauses of the submissions that request the jobs which this plan revives, resumes or may pause. A pause
    locks its jobs after this lock, so the plan does too. Submissions with a job that waits for a revived one will
    request that one too.
    """
    jobs = {job.id for job in known.values() if job.is_paused or job.state is State.SPLIT}
    jobs.update(known[name].id for name in _wanted_in_vain(plan, marks) if name in known)
    if revived := _revived(tx, plan, known):
        jobs.update(revived, reruns.waiting_children(tx, sorted(revived)))
    if jobs:
        pauses.lock_pauses_of_requesters(tx, sorted(jobs))


def _revived(tx: Tx, plan: JobPlan, known: Mapping[JobName, KnownJob]) -> set[int]:
    """Return the jobs that run again because of this plan. Nothing is locked."""
    revived: set[int] = set()
    for rerun in plan.reruns:
        named = [known[name].id for name in rerun.names if name in known]
        revived.update(named if rerun.alone else reruns.reach(tx, named, downstream=rerun.downstream))
    cancelled = {job.id for job in known.values() if job.state is State.CANCELLED}
    if others := sorted(cancelled - revived):
        revived.update(reruns.reach(tx, others, downstream=False))
    return revived


def _most_urgent(plan: JobPlan) -> Mapping[str, object]:
    """Return the highest priority and the first deadline of the jobs of this plan."""
    policies = [job.policy for job in plan.jobs]
    deadlines = [policy.end_before for policy in policies if policy.end_before is not None]
    return {
        "priority": max(policy.priority for policy in policies),
        "end_before": min(deadlines, default="infinity"),
    }


def _held(ids: dict[JobName, int], held: Sequence[_HeldJob]) -> _Held:
    locked = {job.id for job in held}
    return _Held(
        {name: id for name, id in ids.items() if id in locked},
        split=[job.id for job in held if job.state == State.SPLIT],
        paused=[job.id for job in held if job.paused],
        expanding=[job.id for job in held if job.is_expanding],
    )


def _still_due(tx: Tx, rerun: RerunRequest, ids: Mapping[JobName, int]) -> list[int]:
    """Return the jobs to run again for this request.

    If inputs were too old, these are the jobs without a newer run. If jobs run again alone, the unsuccessful ones.
    """
    if rerun.alone:
        return reruns.unsuccessful(tx, [ids[name] for name in rerun.names])
    if not rerun.stale:
        return [ids[name] for name in rerun.names]
    return reruns.unchanged(tx, {ids[name]: claim for name, claim in rerun.stale.items()})


def _decided(jobs: Iterable[PlannedJob], names: Collection[JobName]) -> list[PlannedJob]:
    """Return the jobs with a parent among these names. The state of such a parent may already decide the need, unless
    it is known to be met."""
    if not names:
        return []
    return [
        job
        for job in jobs
        if any(need.parent in names and not job.meets(need) for gate in job.gates for need in gate.needs)
    ]


def _lenders(plan: JobPlan, fresh: list[PlannedJob], older: Collection[JobName]) -> list[PlannedJob]:
    """Return the jobs that may lend urgency to a parent, or receive it from an existing child. If all jobs of the plan
    are equally urgent, these are only the jobs that involve an existing job."""
    terms = {(job.policy.priority, job.policy.end_before) for job in plan.jobs}
    if len(terms) > 1 or any(end_before for _, end_before in terms):
        return fresh
    return [*_decided(fresh, older), *(job for job in fresh if job.name in older)]


def _rerun(tx: Tx, entered: _Entered) -> tuple[RerunJobs, list[tuple[int, int]]]:
    """Revive cancelled jobs that are requested again, and the jobs of the reruns.

    Return these jobs with all that this affects, and the new requests for jobs that the plan does not name, each as the
    number of a submission and a job. Jobs that the plan names start under its terms, the others under their previous
    terms.
    """
    jobs, ids = entered.requested_again, entered.ids
    if not jobs and not entered.reruns:
        return RerunJobs([], []), []
    alone = reruns.rerun_alone(tx, [job for again, named in entered.reruns if again.alone for job in named])
    rerun_jobs = reruns.want_again(tx, entered.numbers(jobs))
    begun, touched = alone.jobs + rerun_jobs.jobs, alone.touched + rerun_jobs.touched
    requests: list[tuple[int, int]] = []
    for again, named in entered.reruns:
        if again.alone:
            continue
        note = reruns.STALE_INPUT if again.stale else None
        rerun_jobs = reruns.rerun(tx, named, downstream=again.downstream, note=note)
        requests += [(again.submission, job) for job in rerun_jobs.jobs]
        begun, touched = begun + rerun_jobs.jobs, touched + rerun_jobs.touched
    demand.request(tx, [(number, job, RequestReason.PUSHED) for number, job in requests])
    requests += demand.request_for_waiting(tx, begun)
    restarted = set(begun)
    renewed = [job for job in jobs if ids[job.name] in restarted]
    insertion.renew(tx, renewed, ids)
    subscriptions.subscribe(tx, _subscribed(entered, renewed), again=True)
    return RerunJobs(begun, touched), requests


def _subscribe(tx: Tx, entered: _Entered, also_requested: list[tuple[int, int]]) -> None:
    """Set the rules of the fresh jobs that notify receivers, and add the events of the submissions' own rules.

    ``also_requested`` are jobs that the plan does not name, each with the number of the submission that requests it,
    which may be none of the plan's.
    """
    ids, notifying = entered.ids, entered.marks.notifying
    subscriptions.subscribe(tx, _subscribed(entered, entered.fresh), again=False)
    requested = {ids[name] for number, name, _ in entered.plan.requests if number in notifying}
    subscriptions.add_events(tx, notifying, requested)
    subscriptions.add_events(tx, {number for number, _ in also_requested}, {job for _, job in also_requested})


def _subscribed(entered: _Entered, jobs: Iterable[PlannedJob]) -> list[SubscribedJob]:
    """Return those of the jobs that have rules, each with the first submission that requests it."""
    with_rules = [job for job in jobs if subscriptions.has_rules(job.policy)]
    if not with_rules:
        return []
    numbers = {name: number for number, name, _ in reversed(entered.plan.requests)}
    return [SubscribedJob(entered.ids[job.name], job.policy, numbers.get(job.name)) for job in with_rules]


def _as_asked(ready: list[ReadyJob], plan: JobPlan, ids: Mapping[JobName, int]) -> list[ReadyJob]:
    """Sort the jobs in the order of the requests, so that of two equally urgent jobs the earlier request runs first."""
    places = (
        {ids[name]: place for place, (_, name, _) in reversed([*enumerate(plan.requests)])} if ready else {}
    )
    return sorted(ready, key=lambda job: places.get(job.job, len(places)))
