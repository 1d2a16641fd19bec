"""Outcomes of a schedule's due times: which are fired, and why the others are not.

``settle`` takes a schedule as defined and as stored in the ledger, and returns its next stored state. First it
determines the due times that have come, and which of them are still fired (``scheduler.misfires``). Then it applies the
overlap with open submissions to these (``scheduler.overlap``). Every due time that has come gets one outcome.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.schedules.schedule import (
    Firing,
    FiringOutcome,
    OpenRuns,
    Overlapping,
    Schedule,
    StoredSchedule,
)
from sluice.scheduler.due_times import BrokenTrigger, fire_at, first_due
from sluice.scheduler.misfires import judge, passed_by_old_rule, passed_by_own_rule
from sluice.scheduler.overlap import Turns

#: Seconds for which a schedule must have been gone to count as removed. If it is back sooner, a process with other
#: definitions may have made a schedule check in between.
AWAY_S_MIN = 60.0


class ScheduleResult(Struct, frozen=True, kw_only=True):
    """Result of ``settle``. ``replaced`` are submissions that must be cancelled. ``more``: further due times have come
    and are left."""

    standing: StoredSchedule
    firings: tuple[Firing, ...] = ()
    replaced: tuple[str, ...] = ()
    more: bool = False


def settle(
    schedule: Schedule, standing: StoredSchedule | None, now: datetime, busy: OpenRuns, overlap: Overlapping
) -> ScheduleResult:
    """Return the next state of the schedule. A failing trigger ends the schedule until its definition changes."""
    turns = Turns(schedule, busy, overlap)
    if standing is None or _was_away(standing, now):
        turns.forget("the schedule had left its source")
        return _settled(schedule, standing, turns, _begin(schedule, turns, now))
    return _go_on(schedule, standing, turns, now)


def _begin(schedule: Schedule, turns: Turns, now: datetime) -> datetime | None:
    """Return the first due time of its rule after now."""
    try:
        return first_due(schedule.rule, schedule.zone, now)
    except BrokenTrigger as error:
        _note_fault(turns, now, error.what)
        return None


def _go_on(schedule: Schedule, standing: StoredSchedule, turns: Turns, now: datetime) -> ScheduleResult:
    """Handle the due times that have come. If the rule has changed, the due times of the old rule are handled first.
    Only then does the new rule count, from now on."""
    is_other = (standing.rule, standing.timezone) != (schedule.rule.text, schedule.zone.key)
    passed = (passed_by_old_rule if is_other else passed_by_own_rule)(schedule, standing, now)
    if standing.paused_at is None:
        turns.release()
    for each in judge(schedule, standing, passed, now):
        if each.outcome is None:
            turns.take(each.due)
        else:
            turns.note(each.due, each.outcome, each.note)
    if is_other and passed.more:
        rest = replace(standing, next_due=passed.left, fire_at=passed.left)
        return ScheduleResult(standing=rest, firings=turns.firings, replaced=turns.replaced, more=True)
    if passed.fault:
        _note_fault(turns, now, passed.fault)
    left = _begin(schedule, turns, now) if is_other else passed.left
    return replace(_settled(schedule, standing, turns, left), more=passed.more)


def _settled(
    schedule: Schedule, standing: StoredSchedule | None, turns: Turns, next_due: datetime | None
) -> ScheduleResult:
    """Return the state by the schedule's own definition from now on. Only a pause is taken from the previous state."""
    stands = StoredSchedule(
        id=schedule.id,
        app=schedule.app,
        source=schedule.source,
        digest=schedule.digest,
        rule=schedule.rule.text,
        timezone=schedule.zone.key,
        next_due=next_due,
        fire_at=None if next_due is None else fire_at(schedule, next_due),
        paused_at=standing.paused_at if standing else None,
        resumed_at=standing.resumed_at if standing else None,
    )
    return ScheduleResult(standing=stands, firings=turns.firings, replaced=turns.replaced)


def _note_fault(turns: Turns, now: datetime, what: str) -> None:
    """Record a trigger's fault. Its time is moved by the least unit, because a due time may fall on this very
    instant."""
    turns.note(now + timedelta.resolution, FiringOutcome.FAULTY, what)


def _was_away(standing: StoredSchedule, now: datetime) -> bool:
    retired_at = standing.retired_at
    return retired_at is not None and now - retired_at > timedelta(seconds=AWAY_S_MIN)
