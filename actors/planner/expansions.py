"""Planning of the jobs that a successful job adds to its submissions (``job.expand``).

It comes before the planning of the children of the job, in a transaction of its own. If an expansion cannot be planned,
because the definitions have changed or a filter fails, the job stays in the propagation outbox. The groomer repeats the
attempt, and the error is logged. The submissions stay open until then.
"""

import logging
from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sluice.actors.dispatch import announce, tell
from sluice.actors.planner.bubble_up import follow_turns
from sluice.actors.planner.walks import arrive
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, JobPlan, PlannedJob, RerunRequest
from sluice.jobs.observe.log_context import about, of_name
from sluice.jobs.states import By
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import dependencies, expansions
from sluice.ledger.job_graph.expansions import ExpansionRequester, OpenExpansion
from sluice.ledger.job_graph.readiness import ReadyJob, make_ready
from sluice.ledger.lifecycle import plans, requests, submissions
from sluice.ledger.limits import pauses
from sluice.planner.bubble_up.expansion_walk import AddedNeeds, ExpansionWalk
from sluice.planner.bubble_up.merge import in_order, merge, put

_LOG = logging.getLogger("sluice.planner")


class EnteredExpansion(NamedTuple):
    """Messages that follow, and whether the expansions of the job must still be planned, or are left open because no
    submission requests the job."""

    messages: Sequence[Message]
    is_unplanned: bool = False
    is_left_open: bool = False


def enter(tx: Tx, catalogue: Catalogue, job: int) -> EnteredExpansion:
    """Plan the expansions of a job, unless another planner has done so.

    Each job has a transaction of its own. So two jobs that name the same last job read each other's needs, and
    expansions that cannot be planned keep no others back.
    """
    expansions.lock_followers(tx, job)
    asking = expansions.lock_requesters(tx, job)
    opened = expansions.lock_open(tx, job)
    if opened and expansions.has_other_requesters(tx, job, asking):
        return EnteredExpansion([], is_unplanned=True)
    if opened is None or not asking:
        return EnteredExpansion([], is_left_open=opened is not None)
    walks = _walks(tx, catalogue, opened, asking)
    if not walks:
        return EnteredExpansion([], is_unplanned=walks is None)
    # From here on the success decides needs. No child can begin before the plan, because it is one transaction.
    expansions.close(tx, [job])
    told = plans.plan(tx, _plan(catalogue, walks))
    told = dependencies.together([told, dependencies.propagate(tx, [job])])
    ready = follow_turns(tx, catalogue, told)
    cancelled, freed = _replace(tx, opened, walks[0].needs)
    return EnteredExpansion([*announce(tx, ready + freed), *tell(cancelled)])


def _walks(
    tx: Tx, catalogue: Catalogue, opened: OpenExpansion, asking: list[ExpansionRequester]
) -> list[ExpansionWalk] | None:
    """Return a walk for each submission; None if a walk fails."""
    bodies = requests.bodies(tx, [each.number for each in asking])
    before, shared = opened.before, [each.name for each in opened.before if each.is_shared]
    needs = AddedNeeds(catalogue, opened.name, opened.expansions, [each.name for each in before], shared)
    now = tx.current_time()
    failed: list[int] = []

    def refuse(number: int, reason: str) -> None:
        failed.append(number)
        about_job = about(of_name(opened.name))
        _LOG.error("the jobs that %s adds are not planned: %s", opened.name, reason, extra=about_job)

    walks: list[ExpansionWalk] = []
    for each in asking:
        if submission := bodies.get(each.number):
            try:
                walks.append(
                    ExpansionWalk(catalogue, each.number, submission, now, needs=needs, asked_as=each.reason)
                )
            except BadRequest as error:
                refuse(each.number, error.reason)
    arrived = arrive(tx, catalogue, walks, now, refuse)
    return None if failed else arrived


def _plan(catalogue: Catalogue, walks: list[ExpansionWalk]) -> JobPlan:
    """Return the plan of all walks. Named jobs that have ended run again, and all named jobs get their new needs."""
    plan = merge(catalogue, walks)
    jobs = {job.name: job for job in plan.jobs}
    held = {name for walk in walks for name in walk.needs.held}
    for name in held:
        put(jobs, PlannedJob(name=name, standing=EntryState.EXPECTED))
    reruns = [RerunRequest(walk.number, ended) for walk in walks if (ended := tuple(walk.ended()))]
    return replace(
        plan,
        jobs=in_order(catalogue, jobs.values()),
        reruns=(*plan.reruns, *reruns),
        rewired=frozenset(name for walk in walks for name in walk.needs.named),
        held=frozenset(held),
    )


def _replace(tx: Tx, planned: OpenExpansion, needs: AddedNeeds) -> tuple[list[int], list[ReadyJob]]:
    """Remove the needs of earlier expansions from the jobs that are not named any more, and cancel jobs that nothing
    else needs. Return the cancelled jobs, and the other jobs that may run now."""
    if not needs.left:
        return [], []
    ids = {planned.name: planned.id} | {each.name: each.id for each in planned.before}
    left = [ids[name] for name in needs.left]
    parents = [ids[name] for name in needs.replaced]
    defined = [(ids[child], gate, ids[parent]) for child, gate, parent in needs.defined]
    expansions.detach(tx, left, parents=parents, defined=defined)
    cancelled = _cancel(tx, planned, needs.dropped)
    return cancelled, make_ready(tx, By.PLANNER, [id for id in left if id not in cancelled])


def _cancel(tx: Tx, planned: OpenExpansion, dropped: Collection[JobName]) -> list[int]:
    """Cancel these jobs of earlier expansions, unless they have ended or another submission requests them. Return the
    cancelled jobs."""
    jobs = [each for each in planned.before if each.name in dropped]
    expansions.withdraw(tx, [each.id for each in jobs], parents=[planned.id])
    cancelled = submissions.cancel_unwanted(tx, [each.id for each in jobs if each.is_live])
    pauses.apply_to_unrequested(tx, [each.id for each in jobs if each.id not in cancelled])
    return cancelled
