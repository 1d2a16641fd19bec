"""Bubble down: the children of succeeded jobs are planned though nobody asked for them."""

from actors.announce import announce
from broker.messages import Message
from jobs.catalogue import Catalogue
from jobs.states import LIVE
from ledger import planning, submissions
from ledger.connection import Tx
from planner.keyspaces import keyspace_of
from planner.merge import Push, push


def push_children(tx: Tx, catalogue: Catalogue, ended: list[int]) -> list[Message]:
    """Plan what follows from these ended jobs, and note that nothing is owed for them any more."""
    pushes = [push for pusher in planning.pushers(tx, ended) for push in _pushes(catalogue, pusher)]
    states = planning.find(tx, sorted({push.child for push in pushes}))
    # A child that has ended already is not run again because a parent was.
    live = [push for push in pushes if push.child not in states or states[push.child].state in LIVE]
    told = planning.plan(tx, push(catalogue, live)) if live else None
    submissions.repay(tx, ended)
    submissions.settle_watchers(tx, ended)
    return [*announce(tx, told.ready)] if told else []


def _pushes(catalogue: Catalogue, pusher: planning.Pusher) -> list[Push]:
    """An app that has left the definitions pushes nothing."""
    app = catalogue.get(pusher.app)
    if app is None:
        return []
    return [
        Push(child, tuple(pusher.submissions), pusher.kwargs or {}, pusher.overrides or {})
        for child in keyspace_of(app, catalogue).children(app, pusher.key)
    ]
