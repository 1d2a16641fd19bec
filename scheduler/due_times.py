"""Due times of a rule, in order, and their jitter.

APScheduler's triggers compute the next due time. Cron rules use wall time. Their triggers therefore count through a
calendar without zones, and the results are placed in the zone here. A time that clocks skip is due at the end of the
gap. A time that clocks show twice is due once, the first time. Several wall times of one instant are one due time.
``every`` counts physical time.

The jitter delays due times, so that not all schedules fire on the hour (``fire_at``).
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from sluice.jobs.errors import SluiceError
from sluice.jobs.schedules.cron import Cron, instant_of, wall_of
from sluice.jobs.schedules.schedule import Every, Rule, Schedule, Trigger, UserTrigger, submission_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
#: Nothing is due from this year on, because later times cannot be represented in every zone.
YEAR_MAX = 9990
#: Minutes by which clocks may be put back: a whole day, when a country crossed the date line, and never more.
_SHOWN_AGAIN_MAX = 24 * 60
#: Characters of a user trigger's error that are kept.
_TOLD_CHARACTERS_MAX = 500
#: Maximum number of calls to a user's trigger that begins in the past, to find a time after now.
_ASKS_MAX = 100_000


class BrokenTrigger(SluiceError):
    """Raised when a user's trigger fails or returns no valid later time."""


def first_due(rule: Rule, zone: ZoneInfo, now: datetime) -> datetime | None:
    """Return the first due time after now, for schedules that have had none yet; None if there will be none."""
    if isinstance(rule, UserTrigger):
        return _first_asked(rule.trigger, now)
    return next_due(rule, zone, now)


def next_due(rule: Rule, zone: ZoneInfo, due: datetime) -> datetime | None:
    """Return the due time that follows this one; None if this is the last."""
    if due.year >= YEAR_MAX:
        return None
    match rule:
        case Cron():
            return _next_of_cron(rule, zone, due)
        case Every(seconds):
            return _next_multiple(seconds, due)
        case UserTrigger(trigger):
            return _ask(trigger, due, due)


def _next_of_cron(cron: Cron, zone: ZoneInfo, due: datetime) -> datetime | None:
    """Return the next due time of a cron rule. A wall time that clocks show a second time is skipped, because its due
    time was the first one."""
    triggers = _triggers(cron)
    wall = wall_of(due, zone)
    for _ in range(_SHOWN_AGAIN_MAX + 1):
        shown = [trigger.get_next_fire_time(None, wall.replace(tzinfo=UTC)) for trigger in triggers]
        coming = [each for each in shown if each is not None and each.year < YEAR_MAX]
        if not coming:
            return None
        wall = min(coming).replace(tzinfo=None)
        instant = instant_of(wall, zone)
        if instant > due:
            return instant
        wall += _MINUTE
    raise AssertionError(f"no instant of {cron.text!r} follows {due}")


@lru_cache(maxsize=1024)
def _triggers(cron: Cron) -> tuple[CronTrigger, ...]:
    """Return one trigger, or two if either may fire. APScheduler counts weekdays from Monday."""
    shared = {
        "minute": _listed(cron.minutes, 60),
        "hour": _listed(cron.hours, 24),
        "month": _listed(cron.months, 12),
        "timezone": UTC,
    }
    days = ",".join(filter(None, [_listed(cron.days, 31), "last" if cron.last_day else ""]))
    weekdays = _listed(tuple(sorted((day - 1) % 7 for day in cron.weekdays)), 7)
    if cron.either:
        return CronTrigger(day=days, **shared), CronTrigger(day_of_week=weekdays, **shared)
    return (CronTrigger(day=days, day_of_week=weekdays, **shared),)


def _listed(numbers: tuple[int, ...], all_of_them: int) -> str:
    return "*" if len(numbers) == all_of_them else ",".join(map(str, numbers))


def _next_multiple(seconds: int, due: datetime) -> datetime | None:
    """Return the next multiple. The search starts at a whole second, because APScheduler's arithmetic is exact then."""
    after = due.replace(microsecond=0) + _SECOND
    found: datetime = _interval(seconds).get_next_fire_time(None, after)
    return found


@lru_cache(maxsize=1024)
def _interval(seconds: int) -> IntervalTrigger:
    return IntervalTrigger(seconds=seconds, start_date=_EPOCH, timezone=UTC)


def _first_asked(trigger: Trigger, now: datetime) -> datetime | None:
    due = _call(lambda: trigger.get_next_fire_time(None, now))
    for _ in range(_ASKS_MAX):
        if due is None or due > now:
            return due
        due = _ask(trigger, due, now)
    raise BrokenTrigger(f"The trigger gave {_ASKS_MAX} times, and none of them is in the future.")


def _ask(trigger: Trigger, previous: datetime, now: datetime) -> datetime | None:
    due = _call(lambda: trigger.get_next_fire_time(previous, now))
    if due is not None and due <= previous:
        raise BrokenTrigger(f"The trigger gave {due} as the next time after {previous}.")
    return due


def _call(ask: Callable[[], object]) -> datetime | None:
    """Call a user's trigger. Any error becomes ``BrokenTrigger``, because it is the user's code."""
    try:
        due = ask()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"[:_TOLD_CHARACTERS_MAX]
        # The text is stored, and the ledger accepts neither null characters nor lone surrogates.
        what = what.replace("\0", "?").encode(errors="replace").decode()
        raise BrokenTrigger(f"The trigger failed: {what}") from error
    if due is None:
        return None
    if not isinstance(due, datetime) or due.tzinfo is None:
        raise BrokenTrigger(f"The trigger gave {due!r}, which is not a time with a time zone.")
    return due.astimezone(UTC) if due.year < YEAR_MAX else None


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
