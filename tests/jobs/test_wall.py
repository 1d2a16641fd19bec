"""Wall times and instants, in zones with clock changes of an hour, half an hour or a day."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.schedules.cron import instant_of, wall_of
from tests.scheduler.calendar import moments

ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Antarctica/Troll",
    "Asia/Kolkata",
]
INSTANTS = moments("2000-01-01", "2037-01-01")


@pytest.mark.parametrize(
    ("wall", "zone", "instant"),
    [
        ("2026-03-29 01:59:59", "Europe/Berlin", "2026-03-29 00:59:59"),
        ("2026-03-29 02:00:00", "Europe/Berlin", "2026-03-29 01:00:00"),
        ("2026-03-29 02:59:59", "Europe/Berlin", "2026-03-29 01:00:00"),
        ("2026-03-29 03:00:00", "Europe/Berlin", "2026-03-29 01:00:00"),
        ("2026-10-25 02:59:59", "Europe/Berlin", "2026-10-25 00:59:59"),
        ("2026-10-25 03:00:00", "Europe/Berlin", "2026-10-25 02:00:00"),
        ("2026-10-04 02:29:59", "Australia/Lord_Howe", "2026-10-03 15:30:00"),
        ("2011-12-30 12:00:00", "Pacific/Apia", "2011-12-30 10:00:00"),
    ],
)
def test_a_wall_time_has_this_instant_in_its_zone(wall: str, zone: str, instant: str) -> None:
    found = instant_of(datetime.fromisoformat(wall), ZoneInfo(zone))
    assert f"{found:%Y-%m-%d %H:%M:%S}" == instant
    assert found.tzinfo is UTC


@given(st.sampled_from(ZONES), INSTANTS, st.timedeltas(timedelta(0), timedelta(days=2)))
def test_a_later_wall_time_never_has_an_earlier_instant(zone: str, when: datetime, more: timedelta) -> None:
    wall = when.replace(tzinfo=None)
    assert instant_of(wall, ZoneInfo(zone)) <= instant_of(wall + more, ZoneInfo(zone))


@given(st.sampled_from(ZONES), INSTANTS)
def test_a_wall_time_shown_twice_has_its_first_instant(zone: str, instant: datetime) -> None:
    found = instant_of(wall_of(instant, ZoneInfo(zone)), ZoneInfo(zone))
    assert found == instant or (found < instant and instant.astimezone(ZoneInfo(zone)).fold == 1)
