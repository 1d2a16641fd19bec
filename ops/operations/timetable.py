"""Lookup of a defined schedule, and its due times."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from sluice.jobs.catalogue.errors import nearest
from sluice.jobs.errors import BadRequest
from sluice.jobs.schedules.schedule import Schedule, UserTrigger, iso
from sluice.ledger.reads import schedule_states as reads
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.scheduler.due_times import first_due, next_due


def defined(context: OperatorContext, id_: str) -> Schedule:
    """Return the defined schedule with this id. BadRequest suggests the nearest id."""
    found = context.catalogue.schedules.get(id_)
    if found is None:
        raise unknown(id_, context.catalogue.schedules, listing="sluice schedules next")
    return found


def unknown(id_: str, known: Iterable[str], *, listing: str) -> BadRequest:
    return BadRequest(
        f"There is no schedule {id_!r}{nearest(id_, known)}.",
        advice=f"`{listing}` lists the schedules.",
    )


def coming_of(schedule: Schedule, after: datetime) -> Iterator[tuple[datetime, Schedule]]:
    due = first_due(schedule.rule, schedule.zone, after)
    while due is not None:
        yield due, schedule
        due = next_due(schedule.rule, schedule.zone, due)


def require_due(installation: Installation, schedule: Schedule, due: datetime) -> None:
    """Raise BadRequest if the schedule has no such due time by its rule, and never had. A trigger's due times are not
    checked, because only the trigger can compute them.
    """
    if isinstance(schedule.rule, UserTrigger):
        return
    named = next_due(schedule.rule, schedule.zone, due - timedelta.resolution)
    if named != due and installation.ask(lambda tx: reads.at(tx, schedule.id, due)) is None:
        raise BadRequest(
            f"{schedule.id} is not due at {iso(due)}, but next at {iso(named) if named else 'no time at all'}.",
            advice=f"`sluice schedules next {schedule.id} --after {iso(due - timedelta(days=1))}` lists due times.",
        )
