"""Schedules, their due times, and the outcomes of the due times.

A ``Schedule`` defines the jobs that are submitted automatically, their times, and the handling of missed times. A
``Firing`` is one due time and its outcome. The scheduler decides by these types and the ledger stores them.
"""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from sluice.jobs.model.submission import SCHEDULED, Submission
from sluice.jobs.notifications.rules import NotifyRule
from sluice.jobs.schedules.cron import Cron
from sluice.jobs.schedules.due_template import fill
from sluice.jobs.text.units import parse_duration_s

#: Handling of missed due times that are within the grace: skip them, submit the last one, all, or the last N.
CatchUp: TypeAlias = Literal["none", "last", "all"] | int
#: Handling of a due time while an earlier submission of the same schedule is open. None: both run side by side.
Overlap: TypeAlias = Literal["skip", "queue", "replace"]

_EVERY = "every "
_UNITS_S = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


class Trigger(Protocol):
    """Trigger as APScheduler defines it. It returns the next time after the previous one; for the first, that is
    None.
    """

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None: ...


class Every(Struct, frozen=True):
    """Interval in whole seconds. The times are its multiples since 1970, so that a restart does not change them."""

    seconds: int

    @property
    def text(self) -> str:
        return _EVERY + spelled(self.seconds)


class UserTrigger(Struct, frozen=True):
    """The user's trigger object and its description."""

    trigger: Trigger
    text: str

    @classmethod
    def of(cls, trigger: Trigger) -> "UserTrigger":
        kind = type(trigger)
        # The default text of a Python object contains its address, which differs between processes.
        words = re.sub(r" at 0x[0-9a-f]+", "", str(trigger))
        return cls(trigger, f"trigger {kind.__module__}.{kind.__qualname__}: {words}")


Rule: TypeAlias = Cron | Every | UserTrigger


class Schedule(Struct, frozen=True, kw_only=True):
    """Schedule of an app's jobs.

    ``wanted`` is the submission, with texts that may contain the due time (``jobs.schedules.due_template``). ``source``
    names the source of the definition, the same in every process that loads it. ``misfire_grace_s`` is unlimited if it
    is None. ``notify`` are rules for the events of its submissions' jobs. ``digest`` changes with every option of the
    definition.
    """

    id: str
    source: str
    rule: Rule
    zone: ZoneInfo
    wanted: Submission
    misfire_grace_s: float | None
    catch_up: CatchUp = "last"
    overlap: Overlap | None = None
    jitter_s: float = 0.0
    notify: tuple[NotifyRule, ...] = ()
    digest: str = ""

    @property
    def app(self) -> str:
        return self.wanted.app

    def submission(self, due: datetime, id_: str) -> Submission:
        """Return the submission for a due time. Raises ValueError or OverflowError if its texts cannot be written."""
        written = fill(msgspec.to_builtins(self.wanted), due.astimezone(self.zone))
        return msgspec.convert({**written, "app": self.app, "id": id_}, Submission)


def read_rule(text: str, timezone: str) -> tuple[Cron | Every, ZoneInfo] | None:
    """Return the rule with this text, and its zone. None for a trigger, because its text does not describe it
    completely.
    """
    try:
        zone = ZoneInfo(timezone)
        if text.startswith(_EVERY):
            return Every(int(parse_duration_s(text.removeprefix(_EVERY)))), zone
        return Cron.parse(text), zone
    except (ValueError, LookupError, OSError):
        return None


def spelled(seconds: float) -> str:
    """Return the duration as a definition writes it, for example ``1h30m``, in whole seconds."""
    rest, parts = int(seconds), []
    for unit, size in _UNITS_S.items():
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


class FiringOutcome(StrEnum):
    """Outcome of one due time. All except ``queued`` are final."""

    FIRED = "fired"
    QUEUED = "queued"
    SKIPPED = "skipped"
    COALESCED = "coalesced"
    MISSED = "missed"
    PAUSED = "paused"
    FAULTY = "faulty"


class Firing(Struct, frozen=True, kw_only=True):
    """One due time of a schedule. If it has been fired, ``submission`` is the request that was submitted."""

    schedule: str
    due: datetime
    outcome: FiringOutcome
    note: str | None = None
    submission: Submission | None = None


class StoredSchedule(Struct, frozen=True, kw_only=True):
    """Stored state of a schedule: its rule, and its first due time without an outcome (``next_due``).

    ``fire_at`` is that due time plus jitter. Both are None if no due time is left. ``resumed_at`` is the time of the
    last resume.
    """

    id: str
    app: str
    source: str
    digest: str
    rule: str
    timezone: str
    next_due: datetime | None
    fire_at: datetime | None
    paused_at: datetime | None = None
    resumed_at: datetime | None = None
    retired_at: datetime | None = None


class OpenRuns(Struct, frozen=True, kw_only=True):
    """Open work of a schedule.

    ``own`` are its own open submissions, ``app`` is true if its app has any open submission, ``waiting`` are its
    queued due times.
    """

    own: tuple[str, ...] = ()
    app: bool = False
    waiting: tuple[datetime, ...] = ()


class Overlapping(NamedTuple):
    """Rule for overlaps: ``way`` applies while a submission of the same schedule is open.

    With ``of_app`` it also applies while any submission of the app is open.
    """

    way: str | None
    of_app: bool = False


def iso(instant: datetime) -> str:
    """Return the instant as text, for example ``2026-11-20T02:00:00Z``."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def submission_id(schedule: str, due: datetime) -> str:
    """Return the submission id of a due time. It is the same for any process that fires it."""
    return f"{SCHEDULED}{schedule}:{iso(due)}"


def by_hand_id(schedule: str, mark: str) -> str:
    """Return the submission id of a firing by hand, without a due time."""
    return f"{SCHEDULED}{schedule}:by hand:{mark}"
