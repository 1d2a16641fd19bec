"""Due times of a schedule that have come, and which of them are still fired."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sluice.jobs.schedules.schedule import (
    FiringOutcome,
    Rule,
    Schedule,
    StoredSchedule,
    iso,
    read_rule,
    spelled,
)
from sluice.scheduler.due_times import BrokenTrigger, fire_at, next_due

#: Maximum number of due times of one schedule that are handled together. The rest follows.
PASSED_MAX = 500
#: Seconds up to which a firing counts as punctual. A leader that died is replaced within three ticks, and the next
#: schedule check comes a tick later: 4 s, unless ticks are set slower.
PUNCTUAL_S = 15.0


class Come(NamedTuple):
    """Due time that has come, and the time at which it should be fired."""

    due: datetime
    at: datetime


class Passed(NamedTuple):
    """Due times that have come.

    ``left`` is the first due time that is not in ``come``. If ``more`` is set, it has come too, and so have as many
    after it as catching up may take. ``fault`` is the reason why no later due time can be determined.
    """

    come: list[Come]
    left: datetime | None
    more: bool = False
    fault: str | None = None


class JudgedDueTime(NamedTuple):
    """Due time that has come, with its outcome. ``outcome`` is None if it must be fired."""

    due: datetime
    outcome: FiringOutcome | None = None
    note: str | None = None


def passed_by_own_rule(schedule: Schedule, standing: StoredSchedule, now: datetime) -> Passed:
    """Return the due times by the schedule's own rule, as far as their jitter is over."""
    times = _due_times(schedule.rule, schedule.zone, standing.next_due)
    return _passed(times, lambda due: fire_at(schedule, due), now, _taken_max(schedule))


def passed_by_old_rule(schedule: Schedule, standing: StoredSchedule, now: datetime) -> Passed:
    """Return the due times of the rule in the ledger, if the schedule now has another rule. Their jitter is not waited
    for.

    For a trigger, the ledger contains only its next due time.
    """
    times: Iterable[datetime] = [standing.next_due] if standing.next_due else []
    if found := read_rule(standing.rule, standing.timezone):
        times = _due_times(*found, standing.next_due)
    return _passed(times, lambda due: due, now, _taken_max(schedule))


def judge(
    schedule: Schedule, standing: StoredSchedule, passed: Passed, now: datetime
) -> Iterator[JudgedDueTime]:
    """Judge for each due time whether it is still in time, and whether catching up takes it."""
    awake = [each for each in passed.come if not _is_paused(standing, each.due)]
    in_time = [each.due for each in awake if _is_in_time(schedule, now - each.at)]
    taken = _taken(schedule, in_time, passed)
    for due, at in passed.come:
        if _is_paused(standing, due):
            yield JudgedDueTime(due, FiringOutcome.PAUSED)
        elif due in taken:
            yield JudgedDueTime(due)
        elif due in in_time:
            instead = f"that of {iso(taken[-1])}" if taken else "a later one"
            yield JudgedDueTime(due, FiringOutcome.COALESCED, f"{instead} replaces it")
        else:
            yield JudgedDueTime(due, FiringOutcome.MISSED, f"{spelled((now - at).total_seconds())} late")


def _passed(
    times: Iterable[datetime], at: Callable[[datetime], datetime], now: datetime, taken_max: int
) -> Passed:
    come: list[Come] = []
    try:
        for due in times:
            each = Come(due, at(due))
            if each.at > now:
                return Passed(come, due)
            come.append(each)
            if len(come) > PASSED_MAX + taken_max:
                return Passed(come[:PASSED_MAX], come[PASSED_MAX].due, more=True)
    except BrokenTrigger as error:
        return Passed(come, None, fault=error.what)
    return Passed(come, None)


def _due_times(rule: Rule, zone: ZoneInfo, first: datetime | None) -> Iterator[datetime]:
    due = first
    while due is not None:
        yield due
        due = next_due(rule, zone, due)


def _taken(schedule: Schedule, in_time: list[datetime], passed: Passed) -> list[datetime]:
    if schedule.overlap == "replace":
        # Several fired together would each replace the one before it.
        return [] if passed.more else in_time[-1:]
    if schedule.catch_up == "all":
        return in_time
    # If more due times have come, the last of all are not among these.
    return [] if passed.more else in_time[-_taken_max(schedule) :]


def _taken_max(schedule: Schedule) -> int:
    """Return how many of the last due times catching up takes; 0 means all."""
    if isinstance(schedule.catch_up, int):
        return schedule.catch_up
    return 0 if schedule.catch_up == "all" else 1


def _is_in_time(schedule: Schedule, late: timedelta) -> bool:
    """Return whether a due time is still fired if it is this late. If it is punctual, it always is, independent of the
    grace. Without catching up, only punctual due times are fired."""
    grace_s = 0.0 if schedule.catch_up == "none" else schedule.misfire_grace_s
    return grace_s is None or late.total_seconds() <= max(grace_s, PUNCTUAL_S)


def _is_paused(standing: StoredSchedule, due: datetime) -> bool:
    """Return whether the due time falls into a pause. Such due times are not made up for later."""
    resumed_at = standing.resumed_at
    return standing.paused_at is not None or (resumed_at is not None and due <= resumed_at)
