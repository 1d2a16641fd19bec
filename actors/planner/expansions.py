"""Planning of the jobs that a successful job adds to its submissions (``job.expand``).

It comes before the planning of the children of the job, in a transaction of its own. If an expansion cannot be planned,
because the definitions have changed or a filter fails, the job stays in the propagation outbox. The groomer repeats the
attempt, and the error is logged. The submissions stay open until then.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sluice.actors.dispatch import announce, tell
from sluice.actors.planner.bubble_up import arrive, follow_turns
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
from sluice.planner.bubble_up.expansion_walk import AddedNeeds, ExpansionWalk
from sluice.planner.bubble_up.merge import in_order, merge, put

_LOG = logging.getLogger("sluice.planner")


class EnteredExpansions(NamedTuple):
    """Messages that follow, and the jobs whose expansions could not be planned."""

    messages: Sequence[Message]
    unplanned: list[int]


def enter(tx: Tx, catalogue: Catalogue, jobs: list[int]) -> EnteredExpansions:
    """Plan the expansions of these jobs. Jobs whose expansions another planner has planned are left alone."""
    asking = expansions.lock_requesters(tx, jobs)
    opened = {each.id: each for each in expansions.lock_open(tx, jobs)}
    walks, unplanned = _walks(tx, catalogue, opened, asking)
    if not walks:
        return EnteredExpansions([], unplanned)
    planned = [each for each in opened.values() if any(walk.needs.parent == each.name for walk in walks)]
    ids = [each.id for each in planned]
    # From here on the successes decide needs. No child can begin before the plan, because it is one transaction.
    expansions.close(tx, ids)
    told = plans.plan(tx, _plan(catalogue, walks))
    told = dependencies.together([told, dependencies.propagate(tx, ids)])
    ready = follow_turns(tx, catalogue, told)
    cancelled, freed = _drop(tx, planned, {name for walk in walks for name in walk.needs.dropped})
    return EnteredExpansions([*announce(tx, ready + freed), *tell(cancelled)], unplanned)


def _walks(
    tx: Tx, catalogue: Catalogue, opened: dict[int, OpenExpansion], asking: list[ExpansionRequester]
) -> tuple[list[ExpansionWalk], list[int]]:
    """Return a walk for each expansion and submission, and the jobs with a walk that failed."""
    bodies = requests.bodies(tx, [each.number for each in asking])
    failed: set[int] = set()
    arrived: list[tuple[int, ExpansionWalk]] = []
    now = tx.current_time() if asking else None
    for job, expansion in opened.items():
        needs = AddedNeeds(
            catalogue, expansion.name, expansion.expansions, [each.name for each in expansion.before]
        )

        def refuse(_: int, reason: str, job: int = job, name: JobName = expansion.name) -> None:
            failed.add(job)
            _LOG.error("the jobs that %s adds are not planned: %s", name, reason, extra=about(of_name(name)))

        for each in asking:
            submission = bodies.get(each.number)
            if each.job != job or submission is None:
                continue
            try:
                walk = ExpansionWalk(
                    catalogue, each.number, submission, now, needs=needs, asked_as=each.reason
                )
            except BadRequest as error:
                refuse(each.number, error.reason)
                continue
            arrived += [(job, walk) for walk in arrive(tx, [walk], now, refuse)]
    return [walk for job, walk in arrived if job not in failed], sorted(failed)


def _plan(catalogue: Catalogue, walks: list[ExpansionWalk]) -> JobPlan:
    """Return the plan of all walks. Named jobs that have ended run again, and all named jobs get their new needs."""
    plan = merge(catalogue, walks)
    jobs = {job.name: job for job in plan.jobs}
    held = {name for walk in walks for name in (walk.needs.parent, *walk.needs.dropped)}
    for name in held:
        put(jobs, PlannedJob(name=name, standing=EntryState.EXPECTED))
    reruns = [RerunRequest(walk.number, ended) for walk in walks if (ended := tuple(walk.ended()))]
    return replace(
        plan,
        jobs=in_order(catalogue, jobs.values()),
        reruns=(*plan.reruns, *reruns),
        rewired=frozenset(name for walk in walks for name in (*walk.needs.named, *walk.needs.kept)),
        held=frozenset(held),
    )


def _drop(tx: Tx, planned: list[OpenExpansion], dropped: set[JobName]) -> tuple[list[int], list[ReadyJob]]:
    """Cancel the jobs of earlier expansions that are not named any more, unless they have ended or another submission
    requests them. Return the cancelled jobs, and the other jobs that may run now."""
    left = [each for expansion in planned for each in expansion.before if each.name in dropped]
    if not left:
        return [], []
    ids, parents = [each.id for each in left], [each.id for each in planned]
    expansions.withdraw(tx, ids, parents=parents)
    cancelled = submissions.cancel_unwanted(tx, [each.id for each in left if each.is_live])
    expansions.detach(tx, ids, parents=parents)
    dependencies.recount(tx, ids)
    return cancelled, make_ready(tx, By.PLANNER, [id for id in ids if id not in cancelled])
