"""Which partitions of a table one range of output needs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.calendar import UNITS, Calendar, Span, Unit
from sluice.jobs.partition_key import read_span, span_text
from sluice.jobs.partitioning import Offset, Reach, TableDependency

HOUR, DAY, MONTH = Calendar("hour"), Calendar("day"), Calendar("month")
COMPACT = Calendar("day", "%Y%m%d")
WEEK = "2024-04-01..2024-04-07"
HALF_A_DAY_S = 12 * 3600


def _from(text: str, calendar: Calendar = DAY) -> int:
    """A cut-off before which nothing is read."""
    return calendar.start_s(calendar.read(text))


def _to(text: str, calendar: Calendar = DAY) -> int:
    """A cut-off after which nothing is read."""
    return calendar.start_s(calendar.read(text) + 1)


def _needed(
    output: str,
    start: int | Offset | None,
    end: int | Offset,
    *,
    own: Calendar = DAY,
    table: Calendar = DAY,
    **cutoffs: Any,
) -> str | None:
    """What is needed, as a key would have it; ``..last`` where it is all up to there."""
    dependency = TableDependency(
        table="t",
        start_offset=Offset(start) if isinstance(start, int) else start,
        end_offset=Offset(end) if isinstance(end, int) else end,
        calendar=table,
        **cutoffs,
    )
    reach = dependency.needed_for(read_span(own, output), own)
    if reach is None:
        return None
    if reach.first is None:
        return f"..{table.write(reach.last)}"
    return span_text(table, Span(reach.first, reach.last))


@pytest.mark.parametrize(
    ("output", "start", "end", "cutoffs", "needed"),
    [
        # As far back as the offsets say, on days.
        (WEEK, 90, 0, {}, "2024-01-02..2024-04-07"),
        (WEEK, 0, 0, {}, WEEK),
        (WEEK, 3, 3, {}, "2024-03-29..2024-04-04"),
        ("2024-03-01", 1, 1, {}, "2024-02-29"),
        ("2023-03-01", 1, 1, {}, "2023-02-28"),
        ("2024-01-01", 1, 1, {}, "2023-12-31"),
        ("2024-03-31", 0, 0, {}, "2024-03-31"),
        ("2026-01-10", 0, 0, {}, "2026-01-10"),
        # Nothing, where the end comes before the start.
        (WEEK, 0, 10, {}, None),
        (WEEK, 0, 7, {}, None),
        (WEEK, 0, 6, {}, "2024-04-01"),
        (WEEK, 0, 0, {"start_cutoff_s": _from("2024-04-08")}, None),
        (WEEK, 0, 0, {"start_cutoff_s": _from("2024-04-07")}, "2024-04-07"),
        (WEEK, 0, 0, {"end_cutoff_s": _to("2024-03-31")}, None),
        (WEEK, 0, 0, {"end_cutoff_s": _to("2024-04-01")}, "2024-04-01"),
        # Cut off.
        (WEEK, 90, 0, {"start_cutoff_s": _from("2024-02-15")}, "2024-02-15..2024-04-07"),
        (WEEK, 0, 0, {"end_cutoff_s": _to("2024-04-05")}, "2024-04-01..2024-04-05"),
        (WEEK, 0, 0, {"end_cutoff_s": _to("2024-12-31")}, WEEK),
        (
            WEEK,
            7,
            7,
            {"start_cutoff_s": _from("2024-03-28"), "end_cutoff_s": _to("2024-03-30")},
            "2024-03-28..2024-03-30",
        ),
        (
            "2023-01-10..2023-01-20",
            1,
            0,
            {"start_cutoff_s": _from("2023-01-01"), "end_cutoff_s": _to("2023-01-31")},
            "2023-01-09..2023-01-20",
        ),
        (
            "2023-01-10..2023-01-20",
            0,
            1,
            {"start_cutoff_s": _from("2023-01-01"), "end_cutoff_s": _to("2023-01-15")},
            "2023-01-10..2023-01-15",
        ),
        (
            "2023-01-10..2023-01-20",
            0,
            15,
            {"start_cutoff_s": _from("2023-01-01"), "end_cutoff_s": _to("2023-01-30")},
            None,
        ),
        (
            "2023-01-10..2023-01-20",
            0,
            0,
            {"start_cutoff_s": _from("2023-01-01"), "end_cutoff_s": _to("2023-01-09")},
            None,
        ),
        (
            "2024-01-03..2024-01-10",
            7,
            7,
            {"start_cutoff_s": _from("2024-01-01")},
            "2024-01-01..2024-01-03",
        ),
        # Without a start: from the cut-off on, or all there is.
        (WEEK, None, 0, {}, "..2024-04-07"),
        (WEEK, None, 10, {}, "..2024-03-28"),
        (WEEK, None, 0, {"start_cutoff_s": _from("2023-12-01")}, "2023-12-01..2024-04-07"),
        ("2026-01-10", None, 0, {"start_cutoff_s": _from("2024-01-01")}, "2024-01-01..2026-01-10"),
        (WEEK, None, 0, {"start_cutoff_s": _from("2024-04-08")}, None),
        (WEEK, None, 0, {"end_cutoff_s": _to("2024-04-03")}, "..2024-04-03"),
        # A length of time in place of so many partitions.
        ("2024-04-01", Offset(seconds=HALF_A_DAY_S), 0, {}, "2024-03-31..2024-04-01"),
        ("2024-04-01", 0, Offset(seconds=HALF_A_DAY_S), {}, "2024-04-01"),
        ("2024-04-01", 0, Offset(seconds=2 * HALF_A_DAY_S), {}, None),
        (WEEK, Offset(seconds=7 * 86_400), Offset(seconds=86_400), {}, "2024-03-25..2024-04-06"),
    ],
)
def test_days_that_need_days(
    output: str, start: int | Offset | None, end: int | Offset, cutoffs: dict[str, Any], needed: str | None
) -> None:
    assert _needed(output, start, end, **cutoffs) == needed


@pytest.mark.parametrize(
    ("output", "own", "table", "start", "end", "needed"),
    [
        # A finer table than the output.
        ("2024-04-01", DAY, HOUR, 1, 0, "2024-03-31-00..2024-04-01-23"),
        ("2024-04-01", DAY, HOUR, 0, 0, "2024-04-01-00..2024-04-01-23"),
        ("2024-04-01", DAY, HOUR, Offset(seconds=3600), Offset(seconds=3600), "2024-03-31-23..2024-04-01-22"),
        ("2024-02", MONTH, DAY, 0, 0, "2024-02-01..2024-02-29"),
        ("2024-03", MONTH, DAY, 1, 1, "2024-02-01..2024-02-29"),
        ("2024-01", MONTH, DAY, 1, 0, "2023-12-01..2024-01-31"),
        ("2023-02", MONTH, HOUR, 0, 0, "2023-02-01-00..2023-02-28-23"),
        ("2024-02", MONTH, DAY, Offset(seconds=86_400), 0, "2024-01-31..2024-02-29"),
        # A coarser table than the output.
        ("2024-04-01-06..2024-04-01-07", HOUR, DAY, 0, 0, "2024-04-01"),
        ("2024-04-01-00", HOUR, DAY, 1, 0, "2024-03-31..2024-04-01"),
        ("2024-04-01-00", HOUR, DAY, 1, 1, "2024-03-31"),
        ("2024-04-01-23..2024-04-02-00", HOUR, DAY, 0, 0, "2024-04-01..2024-04-02"),
        ("2024-02-29..2024-03-01", DAY, MONTH, 0, 0, "2024-02..2024-03"),
        ("2024-03-01", DAY, MONTH, 1, 1, "2024-02"),
        ("2024-03-15", DAY, MONTH, 31, 0, "2024-02..2024-03"),
        ("2024-12-31-23", HOUR, MONTH, 0, 0, "2024-12"),
        ("2025-01-01-00", HOUR, MONTH, 1, 0, "2024-12..2025-01"),
        # Alike.
        ("2024-03", MONTH, MONTH, 1, 1, "2024-02"),
        ("2024-01..2024-03", MONTH, MONTH, 12, 0, "2023-01..2024-03"),
        ("2024-01-01-00", HOUR, HOUR, 24, 1, "2023-12-31-00..2023-12-31-23"),
        ("2024-03-31-01..2024-03-31-03", HOUR, HOUR, 0, 0, "2024-03-31-01..2024-03-31-03"),
        # Written otherwise.
        ("2024-04-01..2024-04-02", DAY, COMPACT, 0, 0, "20240401..20240402"),
        ("20240401..20240402", COMPACT, DAY, 1, 0, "2024-03-31..2024-04-02"),
        # Up to somewhere.
        ("2024-04-01-06", HOUR, DAY, None, 0, "..2024-04-01"),
        ("2024-04", MONTH, HOUR, None, 0, "..2024-04-30-23"),
    ],
)
def test_units_of_both_kinds(
    output: str, own: Calendar, table: Calendar, start: Any, *, end: Any, needed: str | None
) -> None:
    assert _needed(output, start, end, own=own, table=table) == needed


def test_two_days_of_hours_are_forty_eight() -> None:
    reach = TableDependency(table="t", start_offset=Offset(seconds=86_400), calendar=HOUR).needed_for(
        Span(DAY.read("2024-04-01"), DAY.read("2024-04-01")), DAY
    )
    assert reach
    assert reach.first is not None
    assert len(Span(reach.first, reach.last)) == 48


@pytest.mark.parametrize(
    ("cutoffs", "table", "needed"),
    [
        ({"end_cutoff_s": _to("20240401", COMPACT)}, COMPACT, "20240401"),
        ({"end_cutoff_s": _to("20240402", COMPACT)}, COMPACT, "20240401..20240402"),
        ({"start_cutoff_s": _from("2024-04-02-06", HOUR)}, DAY, "2024-04-02"),
        ({"end_cutoff_s": _to("2024-04-01-06", HOUR)}, DAY, "2024-04-01"),
        ({"end_cutoff_s": _to("2024-04-01")}, HOUR, "2024-04-01-00..2024-04-01-23"),
        ({"start_cutoff_s": _from("2024-05", MONTH)}, DAY, None),
        ({"end_cutoff_s": _to("2024-03", MONTH)}, DAY, None),
        ({"end_cutoff_s": _to("2024-04", MONTH)}, DAY, "2024-04-01..2024-04-02"),
    ],
)
def test_cutoffs_are_moments_whatever_they_are_written_in(
    cutoffs: dict[str, Any], table: Calendar, needed: str | None
) -> None:
    assert _needed("2024-04-01..2024-04-02", 0, 0, table=table, **cutoffs) == needed


def test_an_old_window_and_the_present_of_one_table_are_needed_each() -> None:
    assert _needed(WEEK, 90, 90) == "2024-01-02..2024-01-08"
    assert _needed(WEEK, 0, 0) == WEEK


@pytest.mark.parametrize("cumulative", [True, False])
def test_a_table_that_has_all_of_the_past_needs_nothing_where_others_need_nothing(
    *, cumulative: bool
) -> None:
    output = read_span(DAY, WEEK)
    table = TableDependency(table="t", cumulative=cumulative)
    assert table.needed_for(output, DAY) == Reach(output.first, output.last)
    late = TableDependency(table="t", cumulative=cumulative, end_offset=Offset(15))
    assert late.needed_for(output, DAY) is None
    gone = TableDependency(table="t", cumulative=cumulative, end_cutoff_s=_to("2024-03-31"))
    assert gone.needed_for(output, DAY) is None


@pytest.mark.parametrize("own", [HOUR, DAY, MONTH], ids=str)
@pytest.mark.parametrize("table", [HOUR, DAY, MONTH], ids=str)
def test_what_goes_back_to_before_any_calendar_takes_all_there_is(own: Calendar, table: Calendar) -> None:
    output = own.write(own.read(own.example))
    ages = Offset(seconds=3000 * 366 * 86_400)
    assert _needed(output, ages, 0, own=own, table=table) == _needed(output, None, 0, own=own, table=table)
    assert _needed(output, 0, ages, own=own, table=table) is None
    assert _needed(output, None, ages, own=own, table=table) is None


@pytest.mark.parametrize("own", UNITS)
@pytest.mark.parametrize("table", UNITS)
@given(
    first=st.integers(-2000, 2000),
    more=st.integers(0, 50),
    start=st.integers(0, 60),
    end=st.integers(0, 60),
)
def test_all_that_the_time_of_the_output_meets_is_needed_and_no_more(
    own: Unit, table: Unit, *, first: int, more: int, start: int, end: int
) -> None:
    mine, theirs = Calendar(own), Calendar(table)
    dependency = TableDependency(
        table="t", start_offset=Offset(start), end_offset=Offset(end), calendar=theirs
    )
    reach = dependency.needed_for(Span(first, first + more), mine)
    begins_s, ends_s = mine.start_s(first - start), mine.start_s(first + more + 1 - end)
    if begins_s >= ends_s:
        assert reach is None
        return
    assert reach
    assert reach.first is not None
    assert theirs.start_s(reach.first) <= begins_s < theirs.start_s(reach.first + 1)
    assert theirs.start_s(reach.last) < ends_s <= theirs.start_s(reach.last + 1)
