"""Numbering, writing and reading of partitions, for every unit, month, year and format."""

import time
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.keys.calendar import BEGINNING_S, UNITS, Calendar, Span, Unit

END_S = int(datetime(9999, 12, 31, 23, tzinfo=UTC).timestamp())
FORMATS: dict[Unit, list[str]] = {
    "hour": ["", "%Y%m%d%H", "%d.%m.%Y %H:00", "%Y-%m-%d-%I%p"],
    "day": ["", "%Y%m%d", "%d-%b-%Y", "%Y-%j", "%Y%m%d00"],
    "week": ["", "%GW%V", "W%V.%G", "%G-W%V-%u"],
    "month": ["", "%Y%m", "%b-%Y", "m%m.%Y"],
}
CALENDARS = [Calendar(unit, format_) for unit, formats in FORMATS.items() for format_ in formats]


def _s(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]  # Argument count varies.


@pytest.mark.parametrize("calendar", CALENDARS, ids=str)
@given(moment_s=st.integers(BEGINNING_S, END_S))
def test_a_written_partition_can_be_read_back(calendar: Calendar, moment_s: int) -> None:
    partition = calendar.at(moment_s)
    text = calendar.write(partition)
    assert calendar.read(text) == partition
    assert Calendar(calendar.unit).read(Calendar(calendar.unit).write(partition)) == partition


@pytest.mark.parametrize("unit", UNITS)
@given(moment_s=st.integers(-(10**13), 10**13))
def test_each_moment_belongs_to_one_partition(unit: Unit, moment_s: int) -> None:
    calendar = Calendar(unit)
    partition = calendar.at(moment_s)
    assert calendar.start_s(partition) <= moment_s < calendar.start_s(partition + 1)


@pytest.mark.parametrize("unit", UNITS)
@given(partition=st.integers(-(10**6), 10**6))
def test_a_partition_begins_where_the_one_before_it_ends(unit: Unit, partition: int) -> None:
    calendar = Calendar(unit)
    start_s = calendar.start_s(partition)
    assert calendar.at(start_s) == partition
    assert calendar.at(start_s - 1) == partition - 1


@pytest.mark.parametrize(
    ("unit", "text", "number", "begins"),
    [
        ("hour", "1970-01-01-00", 0, (1970, 1, 1)),
        ("hour", "1969-12-31-23", -1, (1969, 12, 31, 23)),
        ("hour", "2024-04-01-13", 475_549, (2024, 4, 1, 13)),
        ("day", "1970-01-01", 0, (1970, 1, 1)),
        ("day", "1969-12-31", -1, (1969, 12, 31)),
        ("day", "2024-02-29", 19_782, (2024, 2, 29)),
        ("week", "1970-W01", 0, (1969, 12, 29)),
        ("week", "1969-W52", -1, (1969, 12, 22)),
        ("week", "2024-W14", 2_831, (2024, 4, 1)),
        ("week", "2026-W48", 2_969, (2026, 11, 23)),
        ("week", "2025-W01", 2_870, (2024, 12, 30)),
        ("week", "2026-W53", 2_974, (2026, 12, 28)),
        ("week", "2020-W53", 2_661, (2020, 12, 28)),
        ("month", "1970-01", 0, (1970, 1, 1)),
        ("month", "1969-12", -1, (1969, 12, 1)),
        ("month", "2024-02", 649, (2024, 2, 1)),
        ("month", "2000-02", 361, (2000, 2, 1)),
        ("month", "1900-03", -838, (1900, 3, 1)),
        ("month", "9999-12", 96_359, (9999, 12, 1)),
    ],
)
def test_partitions_are_numbered_from_1970(
    unit: Unit, text: str, number: int, begins: tuple[int, ...]
) -> None:
    calendar = Calendar(unit)
    assert calendar.read(text) == number
    assert calendar.write(number) == text
    assert calendar.start_s(number) == _s(*begins)


@pytest.mark.parametrize(
    ("unit", "text", "after"),
    [
        ("hour", "2023-12-31-23", "2024-01-01-00"),
        ("hour", "2024-02-28-23", "2024-02-29-00"),
        ("hour", "2024-03-31-01", "2024-03-31-02"),
        ("day", "2024-02-28", "2024-02-29"),
        ("day", "2023-02-28", "2023-03-01"),
        ("day", "2100-02-28", "2100-03-01"),
        ("day", "2000-02-28", "2000-02-29"),
        ("day", "2024-12-31", "2025-01-01"),
        ("week", "2024-W52", "2025-W01"),
        ("week", "2026-W52", "2026-W53"),
        ("week", "2026-W53", "2027-W01"),
        ("week", "2020-W53", "2021-W01"),
        ("month", "2024-12", "2025-01"),
        ("month", "2024-01", "2024-02"),
        ("month", "1969-12", "1970-01"),
    ],
)
def test_the_next_number_is_the_next_partition(unit: Unit, text: str, after: str) -> None:
    calendar = Calendar(unit)
    assert calendar.write(calendar.read(text) + 1) == after
    assert calendar.write(calendar.read(after) - 1) == text


@pytest.mark.parametrize(
    ("month", "days"), [("2024-02", 29), ("2023-02", 28), ("2100-02", 28), ("2000-02", 29), ("2024-12", 31)]
)
def test_a_month_has_the_right_number_of_days(month: str, days: int) -> None:
    calendar = Calendar("month")
    number = calendar.read(month)
    assert calendar.start_s(number + 1) - calendar.start_s(number) == days * 86_400


@given(moment_s=st.integers(BEGINNING_S, END_S))
def test_a_week_is_the_iso_week_of_each_of_its_seven_days(moment_s: int) -> None:
    weeks, days = Calendar("week"), Calendar("day")
    day = datetime.fromtimestamp(moment_s, UTC).date()
    year, week, weekday = day.isocalendar()
    partition = weeks.at(moment_s)
    assert weeks.write(partition) == f"{year}-W{week:02}"
    assert date.fromisoformat(f"{weeks.write(partition)}-1") == day - timedelta(days=weekday - 1)
    assert weeks.start_s(partition) == days.start_s(days.at(moment_s) - weekday + 1)
    assert weeks.start_s(partition + 1) - weeks.start_s(partition) == 7 * 86_400


@pytest.mark.parametrize("unit", UNITS)
@given(moments_s=st.tuples(*[st.integers(BEGINNING_S, END_S)] * 2))
def test_the_order_of_texts_is_the_order_of_partitions(unit: Unit, moments_s: tuple[int, int]) -> None:
    calendar = Calendar(unit)
    first, last = sorted(map(calendar.at, moments_s))
    assert (calendar.write(first) < calendar.write(last)) == (first < last)


def test_a_week_may_be_written_as_the_date_of_its_monday() -> None:
    calendar = Calendar("week", "%Y-%m-%d")
    assert calendar.read("2024-12-30") == calendar.read("2025-W01")
    assert calendar.write(calendar.read("2025-W01")) == "2024-12-30"


def test_months_continue_beyond_the_range_of_python_dates() -> None:
    calendar = Calendar("month")
    last = calendar.read("9999-12")
    assert calendar.start_s(last + 1) == _s(9999, 12, 31) + 86_400
    assert calendar.at(calendar.start_s(last + 1)) == last + 1
    assert calendar.start_s(-100_000 * 12) == -((date(1970, 1, 1) - date(1570, 1, 1)).days) * 250 * 86_400


@pytest.mark.parametrize(
    ("calendar", "text"),
    [
        (Calendar(), ""),
        (Calendar(), "2024-04"),
        (Calendar(), "2024-04-31"),
        (Calendar(), "2023-02-29"),
        (Calendar(), "2024-04-01-00"),
        (Calendar(), "20240401"),
        (Calendar(), "yesterday"),
        (Calendar(), " 2024-04-01"),
        (Calendar(), "2024-4-1"),
        (Calendar(), "0999-12-31"),
        (Calendar(), "10000-01-01"),
        (Calendar("hour"), "2024-04-01"),
        (Calendar("hour"), "2024-04-01-24"),
        (Calendar("hour"), "2024-04-01-7"),
        (Calendar("week"), "2024-W53"),
        (Calendar("week"), "2024-W00"),
        (Calendar("week"), "2024-W54"),
        (Calendar("week"), "2024-W4"),
        (Calendar("week"), "2024-w14"),
        (Calendar("week"), "2024-14"),
        (Calendar("week"), "2024-W14-1"),
        (Calendar("week"), "2024-04-01"),
        (Calendar("week", "%Y-%m-%d"), "2024-04-02"),
        (Calendar("month"), "2024-13"),
        (Calendar("month"), "2024"),
        (Calendar("month"), "2024-04-01"),
        (Calendar("day", "%Y%m%d"), "202411"),
        (Calendar("day", "%Y%m%d"), "2024111"),
        (Calendar("month", "%Y%m"), "20241"),
        (Calendar("day", "%Y%m%d"), "20240401 "),
    ],
)
def test_a_text_that_is_no_partition_is_refused_with_an_example(calendar: Calendar, text: str) -> None:
    with pytest.raises(ValueError, match="write it like 2") as error:
        calendar.read(text)
    assert f"{text!r} is no {calendar.unit}" in str(error.value)


def test_the_usual_spelling_is_read_despite_a_format() -> None:
    calendar = Calendar("day", "%Y%m%d")
    assert calendar.read("20240401") == calendar.read("2024-04-01")
    assert calendar.write(calendar.read("2024-04-01")) == "20240401"


@pytest.mark.parametrize(
    ("calendar", "example"),
    [
        (Calendar("hour"), "2024-04-01-13"),
        (Calendar(), "2024-04-01"),
        (Calendar("week"), "2024-W14"),
        (Calendar("week", "%Y-%m-%d"), "2024-04-01"),
        (Calendar("month"), "2024-04"),
        (Calendar("day", "%d.%m.%Y"), "01.04.2024"),
    ],
)
def test_the_example_is_written_in_the_format_of_the_calendar(calendar: Calendar, example: str) -> None:
    assert calendar.example == example


def test_the_length_of_a_span_includes_both_ends() -> None:
    assert len(Span(3, 3)) == 1
    assert len(Span(-1, 5)) == 7


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_the_time_zone_of_the_machine_has_no_effect(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        hours = Calendar("hour")
        first = hours.read("2024-03-31-00")
        assert [hours.write(first + n) for n in range(4)] == [f"2024-03-31-0{n}" for n in range(4)]
        assert hours.start_s(first) == 1_711_843_200
    finally:
        monkeypatch.undo()
        time.tzset()
