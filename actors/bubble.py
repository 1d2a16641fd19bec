"""Bubble down: the children of jobs that ended as these need it are planned though nobody asked for them."""

import logging
from collections.abc import Iterator

from sluice.actors.announce import announce
from sluice.actors.walking import follow_turns
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.plan import PlannedJob
from sluice.jobs.ref import JobName
from sluice.jobs.states import LIVE
from sluice.jobs.subject import about, of_name
from sluice.ledger import planning, submissions, wishes
from sluice.ledger.connection import Tx
from sluice.planner.keyspaces import keyspace_of
from sluice.planner.merge import Push, follow, merge_pushes

_LOG = logging.getLogger("sluice.planner")


def may_push(catalogue: Catalogue, app: str) -> bool:
    """Whether anything can follow from this app's jobs."""
    return app in catalogue and catalogue[app].partitioning is None and bool(catalogue.children_of(app))


def push_children(tx: Tx, catalogue: Catalogue, ended: list[int]) -> list[Message]:
    """Plan what follows from these ended jobs, and note that nothing is owed for them any more."""
    pushes = [push for pusher in wishes.pushers(tx, ended) for push in _pushes(catalogue, pusher)]
    states = planning.find(tx, sorted({push.child for push in pushes}))
    # A child that has ended already is not run again because a parent was.
    live = [push for push in pushes if push.child not in states or states[push.child].state in LIVE]
    planned = dict(_planned(catalogue, live))
    told = planning.plan(tx, merge_pushes(catalogue, planned)) if planned else None
    submissions.repay(tx, ended)
    submissions.settle_watchers(tx, ended)
    return [*announce(tx, follow_turns(tx, catalogue, told))] if told else []


def _pushes(catalogue: Catalogue, pusher: wishes.Pusher) -> list[Push]:
    numbers = tuple(pusher.submissions)
    return [
        Push(child, numbers, pusher.kwargs or {}, pusher.overrides or {})
        for child in _children(catalogue, pusher)
    ]


def _children(catalogue: Catalogue, pusher: wishes.Pusher) -> list[JobName]:
    """An app that has left the definitions, or whose keys have changed, has none; where a function of the users'
    cannot say which of one app's jobs follow, those of the others do all the same."""
    try:
        app = catalogue.app(pusher.app)
        return list(keyspace_of(app, catalogue).children(app, pusher.key, pusher.state))
    except BadRequest as error:
        subject = about(of_name(pusher.name))
        _LOG.error("not all that follows from %s is planned: %s", pusher.name, error, extra=subject)
    if pusher.app not in catalogue:
        return []
    return [child for of in catalogue.children_of(pusher.app) for child in _of_app(catalogue, pusher, of)]


def _of_app(catalogue: Catalogue, pusher: wishes.Pusher, of: str) -> list[JobName]:
    """Why there are none has been said."""
    app = catalogue.app(pusher.app)
    try:
        return list(keyspace_of(app, catalogue).children(app, pusher.key, pusher.state, of=of))
    except BadRequest:
        return []


def _planned(catalogue: Catalogue, pushes: list[Push]) -> Iterator[tuple[Push, tuple[PlannedJob, ...]]]:
    """Each push with its jobs. One that cannot be planned is left out alone: the others must not wait for it."""
    for push in pushes:
        try:
            yield push, follow(catalogue, push)
        except BadRequest as error:
            _LOG.error("%s is not planned: %s", push.child, error, extra=about(of_name(push.child)))
