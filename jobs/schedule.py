"""A schedule: which jobs are submitted by themselves, when, and what becomes of times that were missed."""

import re
from datetime import datetime
from typing import Literal, Protocol, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from sluice.jobs.cron import Cron
from sluice.jobs.due_text import fill
from sluice.jobs.durations import parse_duration_s
from sluice.jobs.submission import Submission

#: Of the due times that were passed and are not too late: none of them, the last one, all, or so many of the last.
CatchUp: TypeAlias = Literal["none", "last", "all"] | int
#: What happens while an earlier submission of the same schedule is open. None: nothing, they run side by side.
Overlap: TypeAlias = Literal["skip", "queue", "replace"]

_EVERY = "every "
_UNITS_S = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


class Trigger(Protocol):
    """As APScheduler has them: asked for the next time after the previous one, which is None for the first."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None: ...


class Every(Struct, frozen=True):
    """A whole number of seconds. The times are its multiples since 1970, so that they are the same after a restart."""

    seconds: int

    @property
    def text(self) -> str:
        return _EVERY + spelled(self.seconds)


class Asked(Struct, frozen=True):
    """A trigger object of the user's, and what it calls itself."""

    trigger: Trigger
    text: str

    @classmethod
    def of(cls, trigger: Trigger) -> "Asked":
        kind = type(trigger)
        # Where an object has no words of its own, Python tells its address, which is another one in each process.
        words = re.sub(r" at 0x[0-9a-f]+", "", str(trigger))
        return cls(trigger, f"trigger {kind.__module__}.{kind.__qualname__}: {words}")


Rule: TypeAlias = Cron | Every | Asked


class Schedule(Struct, frozen=True, kw_only=True):
    """``wanted`` is what is submitted, with texts that speak of the due time (``jobs.due_text``).

    ``source`` names the source that it is from, the same in every process that loads it. ``misfire_grace_s`` None is
    without end. ``digest`` changes with every word of the definition.
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
    digest: str = ""

    @property
    def app(self) -> str:
        return self.wanted.app

    def submission(self, due: datetime, id_: str) -> Submission:
        """What is submitted for a due time; ValueError or OverflowError where its texts cannot be written."""
        written = fill(msgspec.to_builtins(self.wanted), due.astimezone(self.zone))
        return msgspec.convert({**written, "app": self.app, "id": id_}, Submission)


def read_rule(text: str, timezone: str) -> tuple[Cron | Every, ZoneInfo] | None:
    """The rule whose text this is, in its zone; None for a trigger, of which the text is all that there is."""
    try:
        zone = ZoneInfo(timezone)
        if text.startswith(_EVERY):
            return Every(int(parse_duration_s(text.removeprefix(_EVERY)))), zone
        return Cron.parse(text), zone
    except (ValueError, LookupError, OSError):
        return None


def spelled(seconds: float) -> str:
    """``1h30m``: a duration as it is written in a definition, to the second."""
    rest, parts = int(seconds), []
    for unit, size in _UNITS_S.items():
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"
