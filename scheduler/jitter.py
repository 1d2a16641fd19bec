"""Jitter: delay of due times, so that not all schedules fire on the hour."""

import hashlib
from datetime import datetime, timedelta

from sluice.jobs.firing import submission_id
from sluice.jobs.schedule import Schedule
from sluice.scheduler.due_times import BrokenTrigger, next_due


def fire_at(schedule: Schedule, due: datetime) -> datetime:
    """Return when a due time is fired. The delay depends only on the due time and the schedule's name, so it is the
    same in every process.

    The delay ends before the next due time, so that due times are fired in order.
    """
    if not schedule.jitter_s:
        return due
    room = timedelta(seconds=schedule.jitter_s)
    if (following := _following(schedule, due)) is not None:
        room = min(room, following - due)
    return due + room * _fraction(submission_id(schedule.id, due))


def _following(schedule: Schedule, due: datetime) -> datetime | None:
    """Return the next due time; None if the trigger fails, because that must not prevent this firing."""
    try:
        return next_due(schedule.rule, schedule.zone, due)
    except BrokenTrigger:
        return None


def _fraction(text: str) -> float:
    """Return a number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48
