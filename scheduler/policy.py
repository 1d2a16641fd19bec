"""What becomes of a schedule's due times: which are fired, and what is said of the others.

``settle`` takes a schedule as it is defined and as the ledger has it, and says how it stands from then on. In this
order: which due times have come, and which of them are still to be fired (``scheduler.passed``); what becomes of these
while an earlier one is open (``scheduler.turns``). Every due time that has come gets one outcome.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.firing import Busy, Firing, FiringOutcome, Overlapping, Standing
from sluice.jobs.schedule import Schedule
from sluice.scheduler.due_times import BrokenTrigger, first_due
from sluice.scheduler.jitter import fire_at
from sluice.scheduler.passed import judge, passed_by_old_rule, passed_by_own_rule
from sluice.scheduler.turns import Turns

#: A schedule that is back so soon has not been away: a process with other definitions may have looked in between.
AWAY_S_MIN = 60.0


class Settled(Struct, frozen=True, kw_only=True):
    """``replaced`` are submissions to be cancelled. ``more``: there are due times left that have come."""

    standing: Standing
    firings: tuple[Firing, ...] = ()
    replaced: tuple[str, ...] = ()
    more: bool = False


def settle(
    schedule: Schedule, standing: Standing | None, now: datetime, busy: Busy, overlap: Overlapping
) -> Settled:
    """How the schedule goes on. A trigger that breaks ends it, until its definition changes."""
    turns = Turns(schedule, busy, overlap)
    if standing is None or _was_away(standing, now):
        turns.forget("the schedule had left its source")
        return _settled(schedule, standing, turns, _begin(schedule, turns, now))
    return _go_on(schedule, standing, turns, now)


def _begin(schedule: Schedule, turns: Turns, now: datetime) -> datetime | None:
    """By its rule from now on."""
    try:
        return first_due(schedule.rule, schedule.zone, now)
    except BrokenTrigger as error:
        _note_fault(turns, now, error.what)
        return None


def _go_on(schedule: Schedule, standing: Standing, turns: Turns, now: datetime) -> Settled:
    """What was due by another rule until now is seen to first; only then does the new one count, from now on."""
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
        return Settled(standing=rest, firings=turns.firings, replaced=turns.replaced, more=True)
    if passed.fault:
        _note_fault(turns, now, passed.fault)
    left = _begin(schedule, turns, now) if is_other else passed.left
    return replace(_settled(schedule, standing, turns, left), more=passed.more)


def _settled(
    schedule: Schedule, standing: Standing | None, turns: Turns, next_due: datetime | None
) -> Settled:
    """By the schedule's own definition from now on, whatever stood there."""
    stands = Standing(
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
    return Settled(standing=stands, firings=turns.firings, replaced=turns.replaced)


def _note_fault(turns: Turns, now: datetime, what: str) -> None:
    """At no due time of its own: one may fall on this very instant."""
    turns.note(now + timedelta.resolution, FiringOutcome.FAULTY, what)


def _was_away(standing: Standing, now: datetime) -> bool:
    retired_at = standing.retired_at
    return retired_at is not None and now - retired_at > timedelta(seconds=AWAY_S_MIN)
