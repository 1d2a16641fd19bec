"""Schedules in the ledger, and defined schedules that are not there yet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import asdict

from sluice.jobs.schedules.schedule import Schedule
from sluice.ledger.reads.schedule_states import FiringRecord, Scheduled, schedules
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.timetable import unknown
from sluice.scheduler.due_times import BrokenTrigger, first_due


class ScheduleDocument(Scheduled, frozen=True, kw_only=True):
    """Schedule (docs: the JSON of ``sluice schedules ls``). ``last`` is the outcome of its last due time."""

    last: FiringRecord | None


def all_schedules(
    context: OperatorContext, installation: Installation, now: datetime
) -> dict[str, Scheduled]:
    """Return the schedules by id. This includes schedules that have left their source, and schedules that no scheduler
    has read yet.
    """
    found = {each.id: each for each in installation.ask(lambda tx: schedules(tx, retired=True))}
    return found | {each.id: each for each in not_taken_up(context, found, now)}


def as_document(each: Scheduled, last: Mapping[str, FiringRecord]) -> ScheduleDocument:
    return ScheduleDocument(**asdict(each), last=last.get(each.id))


def known_ids(context: OperatorContext, standing: Iterable[Scheduled], ids: Sequence[str]) -> list[str]:
    """Return the ids without duplicates. BadRequest if neither the ledger nor the definitions have one."""
    known = {each.id for each in standing}
    if context.settings.apps:
        known |= context.catalogue.schedules.keys()
    for id_ in ids:
        if id_ not in known:
            raise unknown(id_, known, listing="sluice schedules ls")
    return list(dict.fromkeys(ids))


def not_taken_up(
    context: OperatorContext, known: Mapping[str, Scheduled], now: datetime
) -> Iterator[Scheduled]:
    """Yield the defined schedules that are not in the ledger yet, or are retired there. The next run of a scheduler
    takes them up.
    """
    defined = context.catalogue.schedules.values() if context.settings.apps else ()
    for each in defined:
        if each.id not in known or known[each.id].retired_at:
            yield Scheduled(
                id=each.id,
                app=each.app,
                source=each.source,
                rule=each.rule.text,
                timezone=each.zone.key,
                next_due=_first_due(each, now),
                fire_at=None,
                taken_up=False,
            )


def _first_due(schedule: Schedule, now: datetime) -> datetime | None:
    try:
        return first_due(schedule.rule, schedule.zone, now)
    except BrokenTrigger:
        return None
