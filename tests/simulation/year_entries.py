"""Schedules of the simulated year, with the expected outcomes of each, in terms of Python and not of cron."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from sluice.jobs.schedules.schedule import FiringOutcome
from tests.scheduler.calendar import Asks, due_times

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
EVER = timedelta.max
#: A submission of ``short`` has ended once it is planned. A submission of ``long`` stays open until the test ends it.
APPS: dict[str, Any] = {
    "short": {"job_id": "{x}", "bash_cmd": "true", "valid_if_or": {"x": ["never"]}},
    "long": {"job_id": "{x}", "bash_cmd": "true"},
}
ALL = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Version(Struct, frozen=True, kw_only=True):
    """A rule as it is written, and its meaning for the check: times that clocks show, or a span of physical time."""

    rule: dict[str, str]
    zone: str = "UTC"
    asks: Asks | None = None
    every: timedelta = timedelta(0)

    def due_times(self, first: datetime, end: datetime) -> list[datetime]:
        """Return the due times from ``first`` until before ``end``."""
        if self.asks is not None:
            return due_times(self.asks, self.zone, first, end)
        numbers = range(-((_EPOCH - first) // self.every), -((_EPOCH - end) // self.every))
        return [_EPOCH + self.every * number for number in numbers]


class Entry(Struct, frozen=True, kw_only=True):
    """One schedule. ``grace`` is the longest delay of a firing.

    Of due times that are handled together, at most ``taken`` are fired. ``takes_h`` is the range of a submission's
    duration, if that matters.
    """

    versions: tuple[Version, ...]
    words: dict[str, Any] = {}
    grace: timedelta = EVER
    taken: int = 1
    takes_h: tuple[float, float] | None = None

    def document(self, version: int) -> dict[str, Any]:
        of = self.versions[version % len(self.versions)]
        return {"app": self.app, "key": "{due:%Y%m%d%H%M}", "timezone": of.zone, **of.rule, **self.words}

    @property
    def app(self) -> str:
        return "long" if self.takes_h else "short"

    def explained(self, due: list[datetime], at: datetime) -> dict[datetime, FiringOutcome]:
        """Return the outcomes of due times that are handled together, if no submission is open."""
        in_time = [each for each in due if at - each <= self.grace]
        told = dict.fromkeys(due, FiringOutcome.MISSED) | dict.fromkeys(in_time, FiringOutcome.COALESCED)
        return told | dict.fromkeys(in_time[-self.taken :], FiringOutcome.FIRED)


def _cron(line: str, zone: str, asks: Asks) -> Version:
    return Version(rule={"cron": line}, zone=zone, asks=asks)


def _daily(hour: int, minute: int) -> Asks:
    return lambda wall: wall.hour == hour and wall.minute == minute


ENTRIES: dict[str, Entry] = {
    "gap": Entry(versions=(_cron("30 2 * * *", BERLIN, _daily(2, 30)),)),
    "nights": Entry(
        versions=(
            _cron(
                "*/30 0-3 * * sun",
                BERLIN,
                lambda w: w.isoweekday() == 7 and w.hour < 4 and w.minute % 30 == 0,
            ),
        ),
        words={"catch_up": "all"},
        taken=ALL,
    ),
    "workdays": Entry(
        versions=(
            _cron("15 9 * * 1-5", NEW_YORK, lambda w: (w.hour, w.minute) == (9, 15) and w.isoweekday() <= 5),
        ),
        words={"misfire_grace": "2h"},
        grace=timedelta(hours=2),
    ),
    "punctual": Entry(
        versions=(_cron("45 1 * * *", LORD_HOWE, _daily(1, 45)),),
        words={"catch_up": "none"},
        grace=timedelta(seconds=15),
    ),
    "some": Entry(
        versions=(_cron("10 2 * * *", NEW_YORK, _daily(2, 10)),),
        words={"catch_up": 2, "misfire_grace": "3d"},
        grace=timedelta(days=3),
        taken=2,
    ),
    "month-ends": Entry(
        versions=(
            _cron("0 12 last * *", BERLIN, lambda w: _daily(12, 0)(w) and (w + timedelta(days=1)).day == 1),
        ),
        words={"catch_up": "all"},
        taken=ALL,
    ),
    "thirteenth": Entry(
        versions=(
            _cron("0 4 13 * 5", "UTC", lambda w: _daily(4, 0)(w) and (w.day == 13 or w.isoweekday() == 5)),
        ),
    ),
    "physical": Entry(
        versions=(Version(rule={"every": "17h"}, every=timedelta(hours=17)),),
        words={"misfire_grace": "6h"},
        grace=timedelta(hours=6),
    ),
    "jittered": Entry(
        versions=(_cron("0 6 * * *", BERLIN, _daily(6, 0)),),
        words={"jitter": "40m", "catch_up": "all"},
        taken=ALL,
    ),
    "edited": Entry(
        versions=(
            _cron("0 7 * * *", BERLIN, _daily(7, 0)),
            _cron("30 19 * * *", NEW_YORK, _daily(19, 30)),
            Version(rule={"every": "1d12h"}, every=timedelta(hours=36)),
        ),
        words={"misfire_grace": "30m"},
        grace=timedelta(minutes=30),
    ),
    "leaving": Entry(versions=(_cron("0 2 * * *", LORD_HOWE, _daily(2, 0)),)),
    "paused": Entry(
        versions=(_cron("0 18 * * *", BERLIN, _daily(18, 0)),),
        words={"catch_up": "all"},
        taken=ALL,
    ),
    "skipping": Entry(
        versions=(_cron("5 2 * * *", LORD_HOWE, _daily(2, 5)),),
        words={"overlap": "skip"},
        takes_h=(10, 36),
    ),
    "queueing": Entry(
        versions=(_cron("5 1 * * *", BERLIN, _daily(1, 5)),),
        words={"overlap": "queue", "catch_up": "all"},
        taken=ALL,
        takes_h=(10, 36),
    ),
    "replacing": Entry(
        versions=(_cron("20 5 * * *", NEW_YORK, _daily(5, 20)),),
        words={"overlap": "replace"},
        takes_h=(10, 36),
    ),
}
