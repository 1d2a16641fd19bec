"""A delay for a due time, so that not everything begins on the hour."""

import hashlib
from datetime import datetime, timedelta

from sluice.jobs.firing import submission_id
from sluice.jobs.schedule import Schedule
from sluice.scheduler.due_times import BrokenTrigger, next_due


def fire_at(schedule: Schedule, due: datetime) -> datetime:
    """When a due time is fired: as long after it as its name and the schedule's decide, whoever asks.

    The delay ends before the next due time comes, so that they are fired one after the other.
    """
    if not schedule.jitter_s:
        return due
    room = timedelta(seconds=schedule.jitter_s)
    if (following := _following(schedule, due)) is not None:
        room = min(room, following - due)
    return due + room * _fraction(submission_id(schedule.id, due))


def _following(schedule: Schedule, due: datetime) -> datetime | None:
    """That a trigger has no next time to tell is no reason not to fire this one."""
    try:
        return next_due(schedule.rule, schedule.zone, due)
    except BrokenTrigger:
        return None


def _fraction(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48
