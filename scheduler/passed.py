"""Which due times of a schedule have come, and which of them are still to be fired."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sluice.jobs.firing import FiringOutcome, Standing, iso
from sluice.jobs.schedule import Rule, Schedule, read_rule, spelled
from sluice.scheduler.due_times import BrokenTrigger, next_due
from sluice.scheduler.jitter import fire_at

#: So many due times of one schedule are seen to at once; the rest follows.
PASSED_MAX = 500
#: A firing that is no later than this is punctual. A leader that died is replaced within three ticks, and the next look
#: comes a tick later: 4 s, unless ticks are set slower.
PUNCTUAL_S = 15.0


class Come(NamedTuple):
    """A due time that has come, and when it was to be fired."""

    due: datetime
    at: datetime


class Passed(NamedTuple):
    """``left`` is the first due time that is not among them. With ``more`` it has come too, and so have as many others
    as catching up may take. ``fault`` says why no due time can be told any more."""

    come: list[Come]
    left: datetime | None
    more: bool = False
    fault: str | None = None


class Judged(NamedTuple):
    """A due time that has come. ``outcome`` None: it is to be fired."""

    due: datetime
    outcome: FiringOutcome | None = None
    note: str | None = None


def passed_by_own_rule(schedule: Schedule, standing: Standing, now: datetime) -> Passed:
    """Each when its jitter is over."""
    times = _due_times(schedule.rule, schedule.zone, standing.next_due)
    return _passed(times, lambda due: fire_at(schedule, due), now, _taken_max(schedule))


def passed_by_old_rule(schedule: Schedule, standing: Standing, now: datetime) -> Passed:
    """By the rule that stands in the ledger, which will count no more: its due times are not waited for any longer.

    Of a trigger the ledger knows the one time alone that was next.
    """
    times: Iterable[datetime] = [standing.next_due] if standing.next_due else []
    if found := read_rule(standing.rule, standing.timezone):
        times = _due_times(*found, standing.next_due)
    return _passed(times, lambda due: due, now, _taken_max(schedule))


def judge(schedule: Schedule, standing: Standing, passed: Passed, now: datetime) -> Iterator[Judged]:
    """Whether each is still in time, and whether catching up takes it."""
    awake = [each for each in passed.come if not _is_paused(standing, each.due)]
    in_time = [each.due for each in awake if _is_in_time(schedule, now - each.at)]
    taken = _taken(schedule, in_time, passed)
    for due, at in passed.come:
        if _is_paused(standing, due):
            yield Judged(due, FiringOutcome.PAUSED)
        elif due in taken:
            yield Judged(due)
        elif due in in_time:
            instead = f"that of {iso(taken[-1])}" if taken else "a later one"
            yield Judged(due, FiringOutcome.COALESCED, f"{instead} serves for it")
        else:
            yield Judged(due, FiringOutcome.MISSED, f"{spelled((now - at).total_seconds())} late")


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
        # Of several at once, each would replace the one before it.
        return [] if passed.more else in_time[-1:]
    if schedule.catch_up == "all":
        return in_time
    # Where there are more than these, the last are not among them.
    return [] if passed.more else in_time[-_taken_max(schedule) :]


def _taken_max(schedule: Schedule) -> int:
    """How many of the last catching up takes; 0 stands for all."""
    if isinstance(schedule.catch_up, int):
        return schedule.catch_up
    return 0 if schedule.catch_up == "all" else 1


def _is_in_time(schedule: Schedule, late: timedelta) -> bool:
    """Without catching up, only what is punctual; and that is in time whatever the grace."""
    grace_s = 0.0 if schedule.catch_up == "none" else schedule.misfire_grace_s
    return grace_s is None or late.total_seconds() <= max(grace_s, PUNCTUAL_S)


def _is_paused(standing: Standing, due: datetime) -> bool:
    """What was due while it was paused is not made up for afterwards."""
    resumed_at = standing.resumed_at
    return standing.paused_at is not None or (resumed_at is not None and due <= resumed_at)
