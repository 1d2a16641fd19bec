"""Bubble down: plan the children that depend on the end of a job, although no submission requested them."""

import logging
from collections.abc import Iterable, Iterator

import msgspec

from sluice.actors.dispatch import announce
from sluice.actors.planner.bubble_up import follow_turns
from sluice.actors.planner.daily_tables import makes_days
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import ids_of
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob
from sluice.jobs.observe.log_context import about, of_name
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import demand, dependencies, expansions, known_jobs
from sluice.ledger.job_graph.submission_locks import SharedSubmissionLocks
from sluice.ledger.keyspaces import freshness
from sluice.ledger.lifecycle import plans, submissions
from sluice.planner.bubble_up.merge import Push, follow, may_be_pushed, merge_pushes
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.chunks.chunk_readers import (
    WorkIdRelation,
    missing_work_ids,
)

_LOG = logging.getLogger("sluice.planner")
#: Maximum number of children that the end of a job looks up to find out whether one has to be planned: 100. With more,
#: the planner looks them up, and the end of the job does not wait for it.
LOOKED_UP_MAX = 100


def may_push(catalogue: Catalogue, app: str) -> bool:
    """Return whether the end of a job of this app can cause children to be planned, or complete a day of a table. It
    causes no chunks: only a submission does."""
    if app not in catalogue or catalogue[app].partitioning is not None:
        return False
    return makes_days(catalogue, app) or any(
        catalogue[child].chunking is None for child in catalogue.children_of(app)
    )


def possible_pushes(catalogue: Catalogue, job: JobName) -> list[JobName] | None:
    """Return the children that a success of this job may have planned; None if only the planner can tell, because they
    are many or a function fails.

    A plan changes nothing for a child that the same submission requests already. So the planner need not be notified
    if all submissions of the job request all of these children.
    """
    if not may_push(catalogue, job.app):
        return []
    app = catalogue[job.app]
    try:
        names = list(keyspace_of(app, catalogue).children(app, job.key, State.SUCCEEDED))
    except BadRequest:
        return None
    return None if len(names) > LOOKED_UP_MAX else [name for name in names if may_be_pushed(catalogue, name)]


def push_children(tx: Tx, catalogue: Catalogue, ended: list[int], *, left_open: list[int]) -> list[Message]:
    """Plan the children of these ended jobs, and remove the jobs from the propagation outbox (``owed``).

    ``left_open`` jobs have expansions that were not planned because no submission requested the jobs. A job of them
    that is requested now stays in the outbox.
    """
    held = demand.lock_out_cancellations(tx, ended)
    requested = expansions.lock_requested(tx, left_open) if left_open else ()
    ended = [job for job in ended if job not in requested]
    planned = dict(_planned(catalogue, _open_pushes(tx, catalogue, ended, held)))
    told = plans.plan(tx, merge_pushes(catalogue, planned)) if planned else None
    dependencies.remove_from_outbox(tx, ended)
    submissions.settle_blocked_by(tx, ended)
    return [*announce(tx, follow_turns(tx, catalogue, told))] if told else []


def _open_pushes(tx: Tx, catalogue: Catalogue, ended: list[int], held: SharedSubmissionLocks) -> list[Push]:
    """Return the pushes of these jobs that have a child to plan. A child that has already ended is not run again
    because its parent was."""
    relation = WorkIdRelation(catalogue)
    pushers = demand.parents_to_push(tx, ended, held)
    pushes = [push for pusher in pushers for push in _pushes(catalogue, relation, pusher)]
    states = known_jobs.find(tx, sorted({push.child for push in pushes}))
    live = [push for push in pushes if push.child not in states or states[push.child].state in LIVE]
    return [*_with_results(tx, catalogue, relation, live)]


def _with_results(
    tx: Tx, catalogue: Catalogue, relation: WorkIdRelation, pushes: Iterable[Push]
) -> Iterator[Push]:
    """Yield the pushes of children that have the results that they need. Several pushes may have the same child."""
    having: dict[tuple[JobName, bytes], bool] = {}
    for push in pushes:
        if not catalogue.names_work_ids(push.child.app):
            yield push
            continue
        same = push.child, msgspec.json.encode(push.kwargs, order="sorted")
        if same not in having:
            having[same] = _has_results(tx, catalogue, relation, push)
        if having[same]:
            yield push


def _pushes(catalogue: Catalogue, relation: WorkIdRelation, pusher: demand.ParentToPush) -> list[Push]:
    numbers = tuple(pusher.submissions)
    return [
        Push(child, numbers, pusher.kwargs or {}, pusher.overrides or {})
        for child in _children(catalogue, relation, pusher)
        if may_be_pushed(catalogue, child)
    ]


def _children(catalogue: Catalogue, relation: WorkIdRelation, pusher: demand.ParentToPush) -> list[JobName]:
    """Return the children to plan for an ended job.

    An app has none if it has left the definitions or its keys have changed. If a user's function fails for the children
    of one app, the children of other apps are still returned.
    """
    try:
        return _related(catalogue, relation, pusher)
    except BadRequest as error:
        subject = about(of_name(pusher.name))
        _LOG.error("not all downstream jobs of %s are planned: %s", pusher.name, error, extra=subject)
    if pusher.app not in catalogue:
        return []
    apps = catalogue.children_of(pusher.app)
    return [child for of in apps for child in _of_app(catalogue, relation, pusher, of)]


def _has_results(tx: Tx, catalogue: Catalogue, relation: WorkIdRelation, push: Push) -> bool:
    """Return whether the child has results for all work IDs that it needs. Otherwise it is not planned: the end of
    the last chunk that it lacks plans it.

    The end of a chunk is recorded before its children are planned. So of two chunks that end at once, the second one
    to plan children sees both.
    """
    known = freshness.FreshnessFacts(tx, tx.current_time(), number=0)
    try:
        needed = relation.needed(push.child)
        return not any(
            missing_work_ids(catalogue, app, {push.child: each}, push.kwargs, known)
            for app, each in needed.items()
        )
    except BadRequest as error:
        _LOG.error("%s is not planned: %s", push.child, error, extra=about(of_name(push.child)))
        return False


def _of_app(
    catalogue: Catalogue, relation: WorkIdRelation, pusher: demand.ParentToPush, of: str
) -> list[JobName]:
    """Return the children that belong to one app, or none if its function fails. The caller has logged the error."""
    try:
        return _related(catalogue, relation, pusher, of)
    except BadRequest:
        return []


def _related(
    catalogue: Catalogue, relation: WorkIdRelation, pusher: demand.ParentToPush, of: str | None = None
) -> list[JobName]:
    app = catalogue.app(pusher.app)
    if app.chunking is None:
        return list(keyspace_of(app, catalogue).children(app, pusher.key, pusher.state, of=of))
    if pusher.state is not State.SUCCEEDED:
        return []
    return relation.children(app, ids_of(pusher.work_ids or ()), of=of)


def _planned(catalogue: Catalogue, pushes: list[Push]) -> Iterator[tuple[Push, tuple[PlannedJob, ...]]]:
    """Yield each push with its jobs. A push that cannot be planned is left out alone, so that the others do not wait
    for it."""
    for push in pushes:
        try:
            yield push, follow(catalogue, push)
        except BadRequest as error:
            _LOG.error("%s is not planned: %s", push.child, error, extra=about(of_name(push.child)))
