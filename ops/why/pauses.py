"""Texts about pauses: held-back jobs, and the commands that let them continue."""

from collections.abc import Sequence
from datetime import datetime
from shlex import quote

from sluice.ledger.limits.app_pauses import AppPause
from sluice.ledger.reads.requesters import Pauser
from sluice.ops.text import moment
from sluice.ops.why.answer import Reason, Remedy, WaitsFor


def held_back(paused_by: Sequence[Pauser], otherwise: Reason) -> Reason:
    """Explain a job that all of its submissions have paused, together with its other obstacle. Resuming any one
    submission lets the job continue.
    """
    first = paused_by[0]
    user = f" of {first.user}" if first.user else ""
    more = f" and {len(paused_by) - 1} more" if len(paused_by) > 1 else ""
    also = f", and {otherwise.because}" if otherwise.because else ""
    return Reason(
        f"is paused with submission {first.id}{user}{more}{also}",
        [*(to_be_resumed(each.id, each.paused_at) for each in paused_by), *otherwise.waits_for],
        [resumes(first.id), *otherwise.remedies],
    )


def app_held_back(pause: AppPause, stands: str) -> Reason:
    """Explain a job that could start if its app were not paused."""
    if pause.until is not None:
        return _broken_off(pause, pause.until, stands)
    by = f" by {pause.by}" if pause.by else ""
    return Reason(
        f"{stands}, but its app {pause.app} is paused{by}",
        [WaitsFor(kind="pause", what=f"app {pause.app} to be resumed", since=pause.since)],
        [Remedy(f"sluice apps resume {quote(pause.app)}", "lets its jobs start")],
    )


def _broken_off(pause: AppPause, until: datetime, stands: str) -> Reason:
    """Explain a job with an app that its breaker has paused."""
    if pause.trial is not None:
        awaited = WaitsFor(
            kind="pause", what=f"the outcome of job {pause.trial}, which is the trial job", since=until
        )
    else:
        trial = f"the next trial job of {pause.app}, which is due {moment(until)} UTC"
        awaited = WaitsFor(kind="pause", what=trial, since=pause.since)
    return Reason(
        f"{stands}, but its app {pause.app} is paused by its breaker: {pause.why}",
        [awaited],
        [
            Remedy(f"sluice ls --app {quote(pause.app)} --state ready", "lists the jobs that it holds back"),
            Remedy(f"sluice apps resume {quote(pause.app)}", "closes the breaker, and lets its jobs start"),
        ],
    )


def to_be_resumed(id_: str, paused_at: datetime) -> WaitsFor:
    return WaitsFor(
        kind="pause",
        what=f"submission {id_} to be resumed, which was paused by `sluice pause`",
        since=paused_at,
    )


def resumes(id_: str) -> Remedy:
    return Remedy(f"sluice resume {quote(id_)}", "lets its jobs continue")
