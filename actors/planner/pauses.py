"""Pausing and resuming of submissions, by a message or by a client, and of apps."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from sluice.actors.dispatch import announce, announce_again
from sluice.broker.messages import Message, Pause, Plan
from sluice.jobs.catalogue import Catalogue
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.limits import app_pauses, pauses


class ResumeResult(NamedTuple):
    """Result of resuming a submission. ``let_go`` is the number of released jobs. ``messages`` announce jobs that may
    run now, or have the submission planned if it was not yet."""

    let_go: int
    messages: Sequence[Message]


class PauseResult(NamedTuple):
    """Result of pausing a submission. ``jobs`` are held back, or None if no such submission is open. ``messages``
    announce the jobs that run in their place."""

    jobs: list[int] | None
    messages: Sequence[Message]


class AppPauseResult(NamedTuple):
    """Result of pausing apps. ``apps`` were not paused before. ``messages`` announce the jobs that run in place of
    theirs."""

    apps: list[str]
    messages: Sequence[Message]


def pause(ledger: Ledger, catalogue: Catalogue, message: Pause) -> Sequence[Message]:
    return hold_back(ledger, message.submission).messages


def hold_back(ledger: Ledger, submission: str) -> PauseResult:
    """Pause a submission. Jobs with a slot of a pool leave it to other jobs."""

    def work(tx: Tx) -> PauseResult:
        return PauseResult(pauses.pause(tx, submission), announce(tx, []))

    return ledger.transact(work)


def go_on(ledger: Ledger, submission: str) -> ResumeResult | None:
    """Resume a submission. None if it does not exist or is not paused."""
    return ledger.transact(partial(_go_on, submission=submission))


def hold_apps_back(ledger: Ledger, apps: Collection[str], by: str | None) -> AppPauseResult:
    """Pause apps. Jobs with a slot of a pool leave it to other apps."""
    return ledger.transact(lambda tx: AppPauseResult(app_pauses.pause(tx, apps, by=by), announce(tx, [])))


def let_apps_go(
    ledger: Ledger, apps: Collection[str], publish: Callable[[Sequence[Message]], None]
) -> list[str]:
    """Resume apps, and return the names of the apps that were paused. Their ready jobs are announced; if that is
    interrupted, the groomer continues."""
    began = ledger.transact(lambda tx: tx.current_time())
    resumed = ledger.transact(lambda tx: app_pauses.resume(tx, apps))
    for app in resumed:
        while messages := ledger.transact(partial(announce_again, app=app, before=began)):
            publish(messages)
    return resumed


def _go_on(tx: Tx, *, submission: str) -> ResumeResult | None:
    resumed = pauses.resume(tx, submission)
    if resumed is None:
        return None
    if not resumed.is_planned:
        return ResumeResult(0, [Plan(submissions=(submission,))])
    return ResumeResult(len(resumed.let_go) + len(resumed.ready), announce(tx, resumed.ready))
