"""Schedules: their states and next due times, and acts on a schedule."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict

from sluice.actors import audit_results
from sluice.actors.scheduler import manual
from sluice.ledger.reads import schedule_states as reads
from sluice.ledger.reads.schedule_states import Scheduled
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.route import CallArguments, NoParameters, Route, action
from sluice.ops.console.tenancy import Tenancy, listed
from sluice.ops.operations.schedules import ScheduleDocument, all_schedules, known_ids
from sluice.ops.operations.timetable import coming_of, defined, require_due
from sluice.scheduler.due_times import BrokenTrigger

#: Due times per schedule in the answer.
COMING = 3


class Standing(ScheduleDocument, frozen=True, kw_only=True):
    """Schedule. ``last`` is the outcome of its last due time. ``coming`` are its next due times, only the next one if
    its definition is not loaded.
    """

    coming: Sequence[datetime]


class Due(Struct, frozen=True, forbid_unknown_fields=True):
    """Due time to fire, which is fired at most once. Default: now."""

    due: Annotated[datetime, Meta(tz=True)] | None = None


class ByHand(Struct, frozen=True, kw_only=True):
    """Result of firing a schedule. ``new`` is false if this due time was fired before; ``submission`` is then that
    submission.
    """

    schedule: str
    submission: str
    due: datetime
    new: bool


class SchedulesPaused(Struct, frozen=True):
    """Schedules that this call paused. Schedules that were paused before are not listed."""

    paused: Sequence[str]


class SchedulesResumed(Struct, frozen=True):
    """Schedules that this call resumed. Schedules that were not paused are not listed."""

    resumed: Sequence[str]


class Schedules(Struct, frozen=True):
    schedules: Sequence[Standing]


def schedules(console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]) -> Schedules:
    """Return the schedules. Schedules that have left their source are only in ``sluice schedules ls --all``."""
    now = datetime.now(UTC)
    found = all_schedules(console.context, console.installation, now)
    last = console.ask(reads.last)
    return Schedules(
        [
            Standing(**asdict(found[id_]), last=last.get(id_), coming=_coming(console, found[id_], now))
            for id_ in sorted(found)
            if not found[id_].retired_at
        ]
    )


def pause(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> SchedulesPaused:
    ids = _known(console, asked.words[0])
    ledger = console.ledger_doing(
        asked.who, "schedules pause", {"schedules": ids}, audit_results.schedules_paused
    )
    catalogue = console.catalogue if console.has_definitions else None
    return SchedulesPaused(manual.pause(ledger, catalogue, ids))


def resume(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> SchedulesResumed:
    ids = _known(console, asked.words[0])
    ledger = console.ledger_doing(
        asked.who, "schedules resume", {"schedules": ids}, audit_results.all_resumed
    )
    return SchedulesResumed(manual.resume(ledger, ids))


def fire(console: ConsoleContext, asked: CallArguments[NoParameters, Due]) -> ByHand:
    schedule, due = defined(console.context, asked.words[0]), asked.body.due
    if due is not None:
        require_due(console.installation, schedule, due)
    about = {"schedule": schedule.id, "due": due}
    ledger = console.ledger_doing(asked.who, "schedules fire", about, audit_results.fired)
    fired = manual.fire(ledger, schedule, due)
    console.client.have_planned([fired.submission])
    return ByHand(schedule=schedule.id, submission=fired.submission, due=fired.due, new=fired.is_new)


def _known(console: ConsoleContext, id_: str) -> list[str]:
    return known_ids(console.context, console.ask(lambda tx: reads.schedules(tx, retired=False)), [id_])


def _coming(console: ConsoleContext, each: Scheduled, now: datetime) -> list[datetime]:
    """Return the next due times by the definition, which may be newer than the state that a scheduler has stored."""
    defined = console.catalogue.schedules.get(each.id) if console.has_definitions else None
    if defined is None or each.paused_at:
        return [each.next_due] if each.next_due and not each.paused_at else []
    try:
        return [due for due, _ in islice(coming_of(defined, now), COMING)]
    except BrokenTrigger:
        return []


def _apps(console: ConsoleContext, asked: CallArguments[NoParameters, Any]) -> Iterable[str]:
    """Return the app of the schedule: of its definition, which would fire, and of its state in the ledger."""
    (id_,) = asked.words
    defined = console.catalogue.schedules.get(id_) if console.has_definitions else None
    known = console.ask(lambda tx: reads.schedules(tx, retired=True))
    return [*(each.app for each in known if each.id == id_), *([defined.app] if defined else [])]


_OF_SCHEDULE = Tenancy(apps=_apps)
_PATH = "/api/schedules"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=schedules,
        summary="Schedules, with the outcome of the last due time and the next due times",
        answers=Schedules,
        tenancy=listed("schedules"),
    ),
    action(
        f"{_PATH}/{{id}}/pause",
        pause,
        "Pause a schedule: its due times pass without a submission",
        answers=SchedulesPaused,
        tenancy=_OF_SCHEDULE,
    ),
    action(
        f"{_PATH}/{{id}}/resume",
        resume,
        "Resume a schedule with its next due time",
        answers=SchedulesResumed,
        tenancy=_OF_SCHEDULE,
    ),
    action(
        f"{_PATH}/{{id}}/fire",
        fire,
        "Fire a schedule now, or for one of its due times",
        answers=ByHand,
        tenancy=_OF_SCHEDULE,
        body=Due,
    ),
)
