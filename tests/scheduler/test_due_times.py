"""Due times of rules: across clock changes, the ends of months, and restarts."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.jobs.schedules.cron import Cron
from sluice.jobs.schedules.schedule import Every, Rule, UserTrigger
from sluice.scheduler.due_times import BrokenTrigger, first_due, next_due
from tests.scheduler.calendar import Asks, at, due_times, moments

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def coming(rule: Rule | str, zone: str, after: datetime) -> Iterator[datetime]:
    rule = Cron.parse(rule) if isinstance(rule, str) else rule
    due = first_due(rule, ZoneInfo(zone), after)
    while due is not None:
        yield due
        due = next_due(rule, ZoneInfo(zone), due)


def told(rule: Rule | str, zone: str, after: str, count: int) -> list[str]:
    return [f"{due:%Y-%m-%d %H:%M}" for due in islice(coming(rule, zone, at(after)), count)]


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # Clocks in Berlin change from 02:00 to 03:00 on 29 March, at 01:00 UTC.
        ("30 2 * * *", BERLIN, "2026-03-28 02:00", ["2026-03-29 01:00", "2026-03-30 00:30"]),
        ("0,30 2,3 * * *", BERLIN, "2026-03-29 00:00", ["2026-03-29 01:00", "2026-03-29 01:30"]),
        ("*/20 * * * *", BERLIN, "2026-03-29 00:30", ["2026-03-29 00:40", "2026-03-29 01:00", "2026-03-29 01:20"]),
        # They change back from 03:00 to 02:00 on 25 October, at 01:00 UTC.
        ("30 2 * * *", BERLIN, "2026-10-24 12:00", ["2026-10-25 00:30", "2026-10-26 01:30"]),
        ("0 2 * * *", BERLIN, "2026-10-24 12:00", ["2026-10-25 00:00", "2026-10-26 01:00"]),
        ("0 3 * * *", BERLIN, "2026-10-24 12:00", ["2026-10-25 02:00", "2026-10-26 02:00"]),
        ("*/30 * * * *", BERLIN, "2026-10-25 00:00", ["2026-10-25 00:30", "2026-10-25 02:00"]),
        # The start is in the middle of the hour that is shown again.
        ("* * * * *", BERLIN, "2026-10-25 01:30", ["2026-10-25 02:00", "2026-10-25 02:01"]),
        # Clocks in New York change on 8 March at 07:00 UTC, and on 1 November at 06:00 UTC.
        ("15 2 * * *", NEW_YORK, "2026-03-07 12:00", ["2026-03-08 07:00", "2026-03-09 06:15"]),
        ("15 1 * * *", NEW_YORK, "2026-10-31 12:00", ["2026-11-01 05:15", "2026-11-02 06:15"]),
        # Lord Howe changes by half an hour: on 4 October and on 5 April, at 15:30 and at 15:00 UTC of the day before.
        ("15 2 * * *", LORD_HOWE, "2026-10-03 12:00", ["2026-10-03 15:30", "2026-10-04 15:15"]),
        ("45 2 * * *", LORD_HOWE, "2026-10-03 12:00", ["2026-10-03 15:45", "2026-10-04 15:45"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-04 12:00", ["2026-04-04 14:45", "2026-04-05 15:15"]),
        ("15 1 * * *", LORD_HOWE, "2026-04-04 12:00", ["2026-04-04 14:15", "2026-04-05 14:45"]),
        # Samoa left out 30 December 2011.
        ("0 9 30 12 *", "Pacific/Apia", "2011-06-01 00:00", ["2011-12-30 10:00", "2012-12-29 19:00"]),
        # Sunday is 0 and 7, Monday is 1.
        ("0 0 * * 0", "UTC", "2026-01-01 00:00", ["2026-01-04 00:00", "2026-01-11 00:00"]),
        ("0 0 * * 7", "UTC", "2026-01-01 00:00", ["2026-01-04 00:00"]),
        ("0 0 * * 1", "UTC", "2026-01-01 00:00", ["2026-01-05 00:00"]),
        ("0 0 * * MON-FRI", "UTC", "2026-01-01 12:00", ["2026-01-02 00:00", "2026-01-05 00:00"]),
        ("0 0 * * fri-sun", "UTC", "2026-01-01 00:00", ["2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00"]),
        # If both the day and the weekday are restricted, either one is sufficient.
        ("0 0 13 * 5", "UTC", "2026-01-01 00:00", ["2026-01-02 00:00", "2026-01-09 00:00", "2026-01-13 00:00"]),
        ("0 0 */7 * 1", "UTC", "2026-01-01 00:00", ["2026-06-01 00:00", "2026-06-08 00:00"]),
        # The ends of months, and leap days.
        ("0 0 31 * *", "UTC", "2026-01-31 00:00", ["2026-03-31 00:00", "2026-05-31 00:00"]),
        ("0 0 last * *", "UTC", "2026-01-31 00:00", ["2026-02-28 00:00", "2026-03-31 00:00"]),
        ("0 0 1,L 2 *", "UTC", "2028-01-31 00:00", ["2028-02-01 00:00", "2028-02-29 00:00"]),
        ("0 0 29 2 *", "UTC", "2096-01-01 00:00", ["2096-02-29 00:00", "2104-02-29 00:00"]),
        ("0 0 1 1 *", BERLIN, "2026-06-01 00:00", ["2026-12-31 23:00", "2027-12-31 23:00"]),
        # Names that stand for lines.
        ("@yearly", "UTC", "2026-06-01 00:00", ["2027-01-01 00:00"]),
        ("@monthly", "UTC", "2026-06-01 00:00", ["2026-07-01 00:00"]),
        ("@weekly", "UTC", "2026-06-01 00:00", ["2026-06-07 00:00"]),
        ("@daily", BERLIN, "2026-06-01 00:00", ["2026-06-01 22:00"]),
        ("@hourly", "Asia/Kolkata", "2026-06-01 00:00", ["2026-06-01 00:30"]),
    ],
)  # fmt: skip
def test_cron_lines_are_due_at_the_expected_times(
    cron: str, zone: str, after: str, expected: list[str]
) -> None:
    assert told(cron, zone, after, len(expected)) == expected


CRONS: dict[str, Asks] = {
    "*/15 0-4 * * *": lambda wall: wall.minute % 15 == 0 and wall.hour <= 4,
    "7 */3 * * *": lambda wall: wall.minute == 7 and wall.hour % 3 == 0,
    "0,45 1-3 * * *": lambda wall: wall.minute in (0, 45) and 1 <= wall.hour <= 3,
    "30 2 15-21 3,10 *": lambda w: (w.hour, w.minute) == (2, 30) and 15 <= w.day <= 21 and w.month in (3, 10),
    "10 2 * * 0": lambda wall: (wall.hour, wall.minute) == (2, 10) and wall.isoweekday() == 7,
    "5 0 1-5 * sat": lambda wall: (wall.hour, wall.minute) == (0, 5) and (wall.day <= 5 or wall.isoweekday() == 6),
    "59 23 last * *": lambda w: (w.hour, w.minute) == (23, 59) and (w + timedelta(days=1)).day == 1,
}  # fmt: skip


#: Weeks around every clock change in these zones.
SPANS = [("2026-02-10", "2026-04-10"), ("2026-09-28", "2026-11-08")]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE, "America/St_Johns", "Africa/Casablanca"])
@pytest.mark.parametrize("span", SPANS)
def test_cron_lines_are_due_when_a_walk_through_every_minute_finds_them(
    zone: str, span: tuple[str, str]
) -> None:
    first, end = map(at, span)
    for cron, asks in CRONS.items():
        times = coming(cron, zone, first - timedelta(seconds=1))
        assert (cron, list(takewhile(lambda due: due < end, times))) == (
            cron,
            due_times(asks, zone, first, end),
        )


@given(
    st.sampled_from([*CRONS]),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE]),
    moments("2026-01-01", "2026-12-31"),
)
def test_the_next_due_time_does_not_depend_on_the_start(cron: str, zone: str, asked: datetime) -> None:
    """Therefore a restart changes nothing."""
    found, following = islice(coming(cron, zone, asked), 2)
    assert asked < found < following
    assert next(coming(cron, zone, found - timedelta.resolution)) == found
    assert next(coming(cron, zone, found)) == following


def fields(low: int, high: int, *names: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    part = st.one_of(
        st.just("*"),
        number.map(str) | st.sampled_from(names or ("*",)),
        span,
        st.builds("*/{}".format, st.integers(1, high)),
        st.builds("{}/{}".format, span, st.integers(1, high)),
    )
    return st.lists(part, min_size=1, max_size=3).map(",".join)


LINES = st.tuples(
    fields(0, 59),
    fields(0, 23),
    fields(1, 31, "last"),
    fields(1, 12, "jan", "DEC"),
    fields(0, 7, "sun", "Mon"),
)


@given(LINES, moments("2026-01-01", "2032-01-01"))
def test_the_next_due_time_of_any_line_follows_from_its_fields(
    line: tuple[str, ...], asked: datetime
) -> None:
    try:
        cron = Cron.parse(" ".join(line))
    except ValueError:
        assume(False)
    times = (
        datetime.combine(served, time(each_hour, each_minute), UTC)
        for served in cron.days_from(asked.date())
        for each_hour in cron.hours
        for each_minute in cron.minutes
    )
    assert next(coming(cron, "UTC", asked)) == next(each for each in times if each > asked)


@pytest.mark.parametrize(
    ("seconds", "after", "expected"),
    [
        (300, "2026-01-01 00:00", ["2026-01-01 00:05", "2026-01-01 00:10"]),
        (300, "2026-01-01 00:03", ["2026-01-01 00:05"]),
        (86_400, "2026-03-29 00:00", ["2026-03-30 00:00", "2026-03-31 00:00"]),
        (604_800, "2026-01-01 00:00", ["2026-01-08 00:00", "2026-01-15 00:00"]),
        (7 * 3600, "1970-01-01 00:00", ["1970-01-01 07:00", "1970-01-01 14:00", "1970-01-01 21:00"]),
    ],
)
def test_every_counts_physical_time_since_1970(seconds: int, after: str, expected: list[str]) -> None:
    assert told(Every(seconds), BERLIN, after, len(expected)) == expected


@given(st.integers(1, 10**8), moments("1970-01-02", "2200-01-01"))
def test_every_is_due_once_at_each_multiple(seconds: int, asked: datetime) -> None:
    found = [*islice(coming(Every(seconds), "UTC", asked), 3)]
    assert asked < found[0] <= asked + timedelta(seconds=seconds)
    assert all(due.timestamp() % seconds == 0 and not due.microsecond for due in found)
    assert {later - sooner for sooner, later in pairwise(found)} == {timedelta(seconds=seconds)}


def asked_of(trigger: object) -> UserTrigger:
    return UserTrigger.of(trigger)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (CronTrigger(hour=2, timezone=BERLIN), ["01-01 01:00", "01-02 01:00"]),
        (IntervalTrigger(hours=7, start_date=at("2026-01-01 03:00")), ["01-01 03:00", "01-01 10:00"]),
        (IntervalTrigger(hours=7, start_date=at("2025-01-01 03:00")), ["01-01 07:00", "01-01 14:00"]),
        (CalendarIntervalTrigger(months=1, start_date="2026-01-31", timezone=UTC), ["01-31 00:00", "03-31 00:00"]),
        (DateTrigger(at("2026-05-05 05:05")), ["05-05 05:05"]),
        (DateTrigger(at("2025-05-05 05:05")), []),
        (
            OrTrigger([CronTrigger(hour=1, timezone=UTC), CronTrigger(hour=5, timezone=UTC)]),
            ["01-01 01:00", "01-01 05:00", "01-02 01:00"],
        ),
    ],
)  # fmt: skip
def test_a_trigger_determines_its_own_due_times(trigger: object, expected: list[str]) -> None:
    found = islice(coming(asked_of(trigger), "UTC", at("2026-01-01 00:00")), len(expected) or 1)
    assert [f"{due:%m-%d %H:%M}" for due in found] == expected


class Broken:
    """Trigger that returns the object it was created with, or raises it."""

    def __init__(self, given: object) -> None:
        self.given = given

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> object:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def __str__(self) -> str:
        return "broken"


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        (KeyError("x"), "The trigger failed: KeyError: 'x'"),
        (ValueError("a\0b\ud800c" * 999), "The trigger failed: ValueError: a?b?ca?b?c"),
        ("soon", "The trigger gave 'soon', which is not a time with a time zone"),
        (at("2026-01-01").replace(tzinfo=None), "which is not a time with a time zone"),
        (at("2025-01-01 00:00"), "gave 2025-01-01 00:00:00+00:00 as the next time after"),
    ],
)
def test_a_trigger_without_a_valid_next_time_is_reported(given_: object, words: str) -> None:
    with pytest.raises(BrokenTrigger) as caught:
        told(asked_of(Broken(given_)), "UTC", "2026-01-01 00:00", 2)
    assert words in caught.value.what


def test_two_equal_triggers_without_their_own_text_have_the_same_text() -> None:
    class Quiet:
        def get_next_fire_time(self, previous: datetime | None, now: datetime) -> None: ...

    assert asked_of(Quiet()).text == asked_of(Quiet()).text


def test_no_rule_is_due_at_the_end_of_the_calendar() -> None:
    late = datetime(9989, 12, 31, tzinfo=UTC)
    assert [due.year for due in coming("@yearly", NEW_YORK, late)] == []
    assert next_due(Every(10), ZoneInfo("UTC"), datetime(9999, 1, 1, tzinfo=UTC)) is None
    assert first_due(Cron.parse("0 0 29 2 *"), ZoneInfo("UTC"), datetime(9989, 1, 1, tzinfo=UTC)) is None
