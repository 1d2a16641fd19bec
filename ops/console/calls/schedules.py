"""Schedules: where each stands, and when it is due next."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice

from msgspec import Struct
from msgspec.structs import asdict

from ledger.reads import schedules as reads
from ledger.reads.schedules import Fired, Scheduled
from ops.cli.standing import all_schedules
from ops.cli.timetable import coming_of
from ops.console.office import Office
from ops.console.route import Asked, Nothing, Route
from scheduler.due_times import BrokenTrigger

#: So many due times are told.
COMING = 3


class Standing(Scheduled, frozen=True, kw_only=True):
    """``last`` is what became of its last due time; ``coming`` are the next, where its definition is at hand."""

    last: Fired | None
    coming: Sequence[datetime]


class Schedules(Struct, frozen=True):
    schedules: Sequence[Standing]


def schedules(office: Office, _: Asked[Nothing, Nothing]) -> Schedules:
    """Those that have left their source are told by ``sluice schedules ls --all``."""
    now = datetime.now(UTC)
    found = all_schedules(office.desk, office.installation, now)
    last = office.ask(reads.last)
    return Schedules(
        [
            Standing(**asdict(found[id_]), last=last.get(id_), coming=_coming(office, found[id_], now))
            for id_ in sorted(found)
            if not found[id_].retired_at
        ]
    )


def _coming(office: Office, each: Scheduled, now: datetime) -> list[datetime]:
    """By the definition, which may be ahead of what a scheduler has taken up."""
    defined = office.catalogue.schedules.get(each.id) if office.has_definitions else None
    if defined is None or each.paused_at:
        return [each.next_due] if each.next_due and not each.paused_at else []
    try:
        return [due for due, _ in islice(coming_of(defined, now), COMING)]
    except BrokenTrigger:
        return []


_PATH = "/api/schedules"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=schedules,
        summary="Schedules, what became of the last due time and when the next are",
        answers=Schedules,
    ),
)
