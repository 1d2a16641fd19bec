"""The due times of a rule, one after the other. APScheduler's triggers say what comes next.

Cron speaks of wall time, so its triggers count through a calendar without zones, and what they give is placed in the
zone here: a time that clocks pass over is due at the gap's end, one that they show twice is due once, the first time.
Several wall times of one instant are one due time. ``every`` counts physical time.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from sluice.jobs.cron import Cron
from sluice.jobs.errors import SluiceError
from sluice.jobs.schedule import Asked, Every, Rule, Trigger
from sluice.jobs.wall import instant_of, wall_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)
#: Beyond this year nothing is due: a later time could not be told in every zone.
YEAR_MAX = 9990
#: Clocks have been put back by a whole day, where a country crossed the date line, and by no more.
_SHOWN_AGAIN_MAX = 24 * 60
#: So much is told of what a user's trigger raised.
_TOLD_CHARACTERS_MAX = 500
#: A trigger of the user's that begins in the past is asked so often for a time to come.
_ASKS_MAX = 100_000


class BrokenTrigger(SluiceError):
    """A user's trigger that raised, or gave what is no time to come."""


def first_due(rule: Rule, zone: ZoneInfo, now: datetime) -> datetime | None:
    """The first due time later than now, for a schedule that has had none yet; None where none will come."""
    if isinstance(rule, Asked):
        return _first_asked(rule.trigger, now)
    return next_due(rule, zone, now)


def next_due(rule: Rule, zone: ZoneInfo, due: datetime) -> datetime | None:
    """The due time that follows this one; None where it is the last."""
    if due.year >= YEAR_MAX:
        return None
    match rule:
        case Cron():
            return _next_of_cron(rule, zone, due)
        case Every(seconds):
            return _next_multiple(seconds, due)
        case Asked(trigger):
            return _ask(trigger, due, due)


def _next_of_cron(cron: Cron, zone: ZoneInfo, due: datetime) -> datetime | None:
    """Wall times before what clocks show now had their instant, and so may have some that they show once more."""
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
    """One, or two of which either will do. They count weekdays from Monday."""
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
    """Asked for from a whole second on: its arithmetic is exact then."""
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
    raise BrokenTrigger(f"The trigger gave {_ASKS_MAX} times and none of them is to come.")


def _ask(trigger: Trigger, previous: datetime, now: datetime) -> datetime | None:
    due = _call(lambda: trigger.get_next_fire_time(previous, now))
    if due is not None and due <= previous:
        raise BrokenTrigger(f"The trigger gave {due} as the next time after {previous}.")
    return due


def _call(ask: Callable[[], object]) -> datetime | None:
    """Any error will do: it is the user's code."""
    try:
        due = ask()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"[:_TOLD_CHARACTERS_MAX]
        # It is written down, and no ledger keeps these.
        what = what.replace("\0", "?").encode(errors="replace").decode()
        raise BrokenTrigger(f"The trigger failed: {what}") from error
    if due is None:
        return None
    if not isinstance(due, datetime) or due.tzinfo is None:
        raise BrokenTrigger(f"The trigger gave {due!r}, which is no time with a zone.")
    return due.astimezone(UTC) if due.year < YEAR_MAX else None
