"""Walks that go up together: one look-up a step for all of them, and each may fall alone."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.submission import Submission
from sluice.ledger import planning, submissions, wishes
from sluice.ledger.connection import Tx
from sluice.ledger.counts import Told
from sluice.ledger.release import Ready
from sluice.planner.merge import merge
from sluice.planner.walk import Walk

#: Told why a submission, by its number, cannot be carried out.
Refuse = Callable[[int, str], None]


def plan_together(
    tx: Tx, catalogue: Catalogue, wanted: Iterable[tuple[int, Submission]], refuse: Refuse
) -> tuple[list[int], list[Ready]]:
    """Walk and plan for these submissions: the numbers of those that were planned, and what may run at once."""
    wanted = [*wanted]
    now = _now(tx, catalogue, (submission for _, submission in wanted))
    arrived = _arrive(tx, _begun(catalogue, wanted, now, refuse), now, refuse)
    numbers = [walk.number for walk in arrived]
    submissions.activate(tx, numbers)
    told = planning.plan(tx, merge(catalogue, arrived))
    return numbers, follow_turns(tx, catalogue, told)


def follow_turns(tx: Tx, catalogue: Catalogue, told: Told) -> list[Ready]:
    """What is ready, also by another way: where a job lost the alternative it waited for, those who want it ask
    for the next.

    Each job is asked for once in here, and a walk chooses among what is not lost, so this ends. What follows
    from those that are stranded in the end is the groomer's to have planned: it is seldom defined, and seldom urgent.
    """
    ready, seen, stranded = told.ready, set[int](), dict(told.stranded)
    while turned := [job for job in told.turned if job not in seen]:
        seen.update(turned)
        askers = wishes.askers(tx, turned)
        now = _now(tx, catalogue, (asker.submission for asker in askers))
        walks = _begun(catalogue, [(asker.number, asker.submission) for asker in askers], now, _stay)
        told = planning.plan(tx, merge(catalogue, _arrive(tx, walks, now, _stay)))
        ready = ready + told.ready
        stranded |= told.stranded
    submissions.owe(tx, [job for job, app in stranded.items() if catalogue.follows_failure(app)])
    submissions.settle_watchers(tx, list(stranded))
    return ready


def _now(tx: Tx, catalogue: Catalogue, wanted: Iterable[Submission]) -> datetime | None:
    """By which it is judged whether inputs are too old; None, and no question to the ledger, where none ever are."""
    return tx.instant() if any(catalogue.minds_age(submission.app) for submission in wanted) else None


def _begun(
    catalogue: Catalogue, wanted: Iterable[tuple[int, Submission]], now: datetime | None, refuse: Refuse
) -> list[Walk]:
    """A walk for each; definitions may have changed since somebody asked, so that there is none for him any more."""
    return [
        walk
        for number, submission in wanted
        if (walk := _attempt(partial(Walk, catalogue, number, submission, now), number, refuse))
    ]


def _arrive(tx: Tx, walks: list[Walk], now: datetime | None, refuse: Refuse) -> list[Walk]:
    """Those of the walks that reach their end."""
    look = planning.look if now else planning.find
    walking, arrived = walks, [walk for walk in walks if walk.arrived]
    while walking := [walk for walk in walking if not walk.arrived]:
        known = look(tx, sorted({name for walk in walking for name in walk.asks()}))
        walking = [walk for walk in walking if _attempt(partial(walk.step, known), walk.number, refuse)]
        arrived += [walk for walk in walking if walk.arrived]
    return arrived


def _attempt(step: Callable[[], Walk], number: int, refuse: Refuse) -> Walk | None:
    """Take one step, or refuse its submission with the reason.

    Any error will do: filters and two-way functions are users' code, and a batch must not fail for one row.
    """
    try:
        return step()
    except BadRequest as error:
        refuse(number, f"{error.what} {error.advice}".strip())
    except Exception as error:
        refuse(number, f"{type(error).__name__}: {error}")
    return None


def _stay(number: int, reason: str) -> None:
    """The job keeps waiting at the gates it has; its submission was admitted long ago."""
