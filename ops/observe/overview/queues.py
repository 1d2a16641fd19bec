"""Queues from an operator's view: waiting jobs, the age of the oldest, and the number of workers."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.states import State

_NONE: Mapping[State, int] = {}


class Queue(Struct, frozen=True, kw_only=True):
    """Queue of an app. ``oldest_ready_s`` is the time for which the oldest ready job has been ready, or None if no job
    is ready.
    """

    app: str
    waiting: int
    ready: int
    running: int
    oldest_ready_s: float | None
    workers: int
    paused: bool = False


def queues(
    apps: Sequence[str],
    counts: Mapping[str, Mapping[State, int]],
    *,
    oldest: Mapping[str, datetime],
    workers: Mapping[str, int],
    paused: Collection[str],
    at: datetime,
) -> list[Queue]:
    """Return a queue for each app, in the order of the apps."""
    return [
        Queue(
            app=app,
            waiting=(of := counts.get(app, _NONE)).get(State.WAITING, 0),
            ready=of.get(State.READY, 0),
            running=of.get(State.RUNNING, 0),
            oldest_ready_s=max((at - oldest[app]).total_seconds(), 0.0) if app in oldest else None,
            workers=workers.get(app, 0),
            paused=app in paused,
        )
        for app in apps
    ]
