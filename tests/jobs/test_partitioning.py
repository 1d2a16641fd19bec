"""The partitions of a table that a range of output needs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.keys.calendar import UNITS, Calendar, Span, Unit
from sluice.jobs.keys.partitions import Offset, Reach, TableDependency, read_span, span_text

HOUR, DAY, WEEKS, MONTH = map(Calendar, UNITS)
COMPACT = Calendar("day", "%Y%m%d")
WEEK = "2024-04-01..2024-04-07"
HALF_A_DAY_S = 12 * 3600


def _from(text: str, calendar: Calendar = DAY) -> int:
    """Return the cut-off before which nothing is read."""
    return calendar.start_s(calendar.read(text))


def _to(text: str, calendar: Calendar = DAY) -> int:
    """Return the cut-off after which nothing is read."""
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
    """Return the needed partitions in the form of a key, or ``..last`` for all partitions up to the last."""
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
        # Start and end offsets in days.
        (WEEK, 90, 0, {}, "2024-01-02..2024-04-07"),
        (WEEK, 0, 0, {}, WEEK),
        (WEEK, 3, 3, {}, "2024-03-29..2024-04-04"),
        ("2024-03-01", 1, 1, {}, "2024-02-29"),
        ("2023-03-01", 1, 1, {}, "2023-02-28"),
        ("2024-01-01", 1, 1, {}, "2023-12-31"),
        ("2024-03-31", 0, 0, {}, "2024-03-31"),
        ("2026-01-10", 0, 0, {}, "2026-01-10"),
        # Nothing is needed if the end is before the start.
        (WEEK, 0, 10, {}, None),
        (WEEK, 0, 7, {}, None),
        (WEEK, 0, 6, {}, "2024-04-01"),
        (WEEK, 0, 0, {"start_cutoff_s": _from("2024-04-08")}, None),
        (WEEK, 0, 0, {"start_cutoff_s": _from("2024-04-07")}, "2024-04-07"),
        (WEEK, 0, 0, {"end_cutoff_s": _to("2024-03-31")}, None),
        (WEEK, 0, 0, {"end_cutoff_s": _to("2024-04-01")}, "2024-04-01"),
        # Limited by cut-offs.
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
        # Without a start: from the cut-off, or from the earliest partition.
        (WEEK, None, 0, {}, "..2024-04-07"),
        (WEEK, None, 10, {}, "..2024-03-28"),
        (WEEK, None, 0, {"start_cutoff_s": _from("2023-12-01")}, "2023-12-01..2024-04-07"),
        ("2026-01-10", None, 0, {"start_cutoff_s": _from("2024-01-01")}, "2024-01-01..2026-01-10"),
        (WEEK, None, 0, {"start_cutoff_s": _from("2024-04-08")}, None),
        (WEEK, None, 0, {"end_cutoff_s": _to("2024-04-03")}, "..2024-04-03"),
        # Offsets as a duration in place of a number of partitions.
        ("2024-04-01", Offset(seconds=HALF_A_DAY_S), 0, {}, "2024-03-31..2024-04-01"),
        ("2024-04-01", 0, Offset(seconds=HALF_A_DAY_S), {}, "2024-04-01"),
        ("2024-04-01", 0, Offset(seconds=2 * HALF_A_DAY_S), {}, None),
        (WEEK, Offset(seconds=7 * 86_400), Offset(seconds=86_400), {}, "2024-03-25..2024-04-06"),
    ],
)
def test_days_of_output_need_these_days_of_a_table(
    output: str, start: int | Offset | None, end: int | Offset, cutoffs: dict[str, Any], needed: str | None
) -> None:
    assert _needed(output, start, end, **cutoffs) == needed


@pytest.mark.parametrize(
    ("output", "own", "table", "start", "end", "needed"),
    [
        # The unit of the table is finer than that of the output.
        ("2024-04-01", DAY, HOUR, 1, 0, "2024-03-31-00..2024-04-01-23"),
        ("2024-04-01", DAY, HOUR, 0, 0, "2024-04-01-00..2024-04-01-23"),
        ("2024-04-01", DAY, HOUR, Offset(seconds=3600), Offset(seconds=3600), "2024-03-31-23..2024-04-01-22"),
        ("2024-02", MONTH, DAY, 0, 0, "2024-02-01..2024-02-29"),
        ("2024-03", MONTH, DAY, 1, 1, "2024-02-01..2024-02-29"),
        ("2024-01", MONTH, DAY, 1, 0, "2023-12-01..2024-01-31"),
        ("2023-02", MONTH, HOUR, 0, 0, "2023-02-01-00..2023-02-28-23"),
        ("2024-02", MONTH, DAY, Offset(seconds=86_400), 0, "2024-01-31..2024-02-29"),
        ("2026-W48", WEEKS, DAY, 0, 0, "2026-11-23..2026-11-29"),
        ("2026-W53..2027-W01", WEEKS, DAY, 0, 0, "2026-12-28..2027-01-10"),
        ("2025-W01", WEEKS, DAY, 1, 1, "2024-12-23..2024-12-29"),
        ("2025-W01", WEEKS, DAY, Offset(seconds=86_400), 0, "2024-12-29..2025-01-05"),
        ("2024-W14", WEEKS, HOUR, 0, 0, "2024-04-01-00..2024-04-07-23"),
        # The unit of the table is coarser than that of the output.
        ("2024-12-29..2024-12-30", DAY, WEEKS, 0, 0, "2024-W52..2025-W01"),
        ("2027-01-03", DAY, WEEKS, 0, 0, "2026-W53"),
        ("2024-04-03", DAY, WEEKS, 7, 7, "2024-W13"),
        # Neither unit is a multiple of the other.
        ("2024-04", MONTH, WEEKS, 0, 0, "2024-W14..2024-W18"),
        ("2024-02", MONTH, WEEKS, 0, 0, "2024-W05..2024-W09"),
        ("2024-W18", WEEKS, MONTH, 0, 0, "2024-04..2024-05"),
        ("2024-W17", WEEKS, MONTH, 0, 0, "2024-04"),
        ("2024-04-01-06..2024-04-01-07", HOUR, DAY, 0, 0, "2024-04-01"),
        ("2024-04-01-00", HOUR, DAY, 1, 0, "2024-03-31..2024-04-01"),
        ("2024-04-01-00", HOUR, DAY, 1, 1, "2024-03-31"),
        ("2024-04-01-23..2024-04-02-00", HOUR, DAY, 0, 0, "2024-04-01..2024-04-02"),
        ("2024-02-29..2024-03-01", DAY, MONTH, 0, 0, "2024-02..2024-03"),
        ("2024-03-01", DAY, MONTH, 1, 1, "2024-02"),
        ("2024-03-15", DAY, MONTH, 31, 0, "2024-02..2024-03"),
        ("2024-12-31-23", HOUR, MONTH, 0, 0, "2024-12"),
        ("2025-01-01-00", HOUR, MONTH, 1, 0, "2024-12..2025-01"),
        # Both have the same unit.
        ("2025-W01", WEEKS, WEEKS, 2, 1, "2024-W51..2024-W52"),
        ("2024-03", MONTH, MONTH, 1, 1, "2024-02"),
        ("2024-01..2024-03", MONTH, MONTH, 12, 0, "2023-01..2024-03"),
        ("2024-01-01-00", HOUR, HOUR, 24, 1, "2023-12-31-00..2023-12-31-23"),
        ("2024-03-31-01..2024-03-31-03", HOUR, HOUR, 0, 0, "2024-03-31-01..2024-03-31-03"),
        # The two have different formats.
        ("2024-04-01..2024-04-02", DAY, COMPACT, 0, 0, "20240401..20240402"),
        ("20240401..20240402", COMPACT, DAY, 1, 0, "2024-03-31..2024-04-02"),
        # Without a start.
        ("2024-04-01-06", HOUR, DAY, None, 0, "..2024-04-01"),
        ("2024-04", MONTH, HOUR, None, 0, "..2024-04-30-23"),
    ],
)
def test_output_and_table_may_have_different_units(
    output: str, own: Calendar, table: Calendar, start: Any, *, end: Any, needed: str | None
) -> None:
    assert _needed(output, start, end, own=own, table=table) == needed


def test_a_day_and_the_day_before_it_need_forty_eight_hours() -> None:
    reach = TableDependency(table="t", start_offset=Offset(seconds=86_400), calendar=HOUR).needed_for(
        Span(DAY.read("2024-04-01"), DAY.read("2024-04-01")), DAY
    )
    assert reach
    assert reach.first is not None
    assert len(Span(reach.first, reach.last)) == 48


@pytest.mark.parametrize(
    ("output", "start", "first", "needed"),
    [
        ("2024-04-03", 6, "2024-04-01", "2024-04-01..2024-04-03"),
        ("2024-04-03", 6, "2024-03-01", "2024-03-28..2024-04-03"),
        ("2024-04-03", None, "2024-04-01", "2024-04-01..2024-04-03"),
        ("2024-03-31", 6, "2024-04-01", None),
    ],
)
def test_nothing_is_read_before_the_first_partition_of_a_table(
    output: str, start: int | None, first: str, needed: str | None
) -> None:
    assert _needed(output, start, 0, first_s=_from(first)) == needed
    assert _needed(output, start, 0, first_s=_from(first), cumulative=True) == needed


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
def test_cutoffs_are_moments_in_whatever_unit_they_are_written(
    cutoffs: dict[str, Any], table: Calendar, needed: str | None
) -> None:
    assert _needed("2024-04-01..2024-04-02", 0, 0, table=table, **cutoffs) == needed


def test_an_old_and_a_current_window_of_one_table_are_separate() -> None:
    assert _needed(WEEK, 90, 90) == "2024-01-02..2024-01-08"
    assert _needed(WEEK, 0, 0) == WEEK


@pytest.mark.parametrize("cumulative", [True, False])
def test_a_cumulative_table_is_needed_only_where_other_tables_are(*, cumulative: bool) -> None:
    output = read_span(DAY, WEEK)
    table = TableDependency(table="t", cumulative=cumulative)
    assert table.needed_for(output, DAY) == Reach(output.first, output.last)
    late = TableDependency(table="t", cumulative=cumulative, end_offset=Offset(15))
    assert late.needed_for(output, DAY) is None
    gone = TableDependency(table="t", cumulative=cumulative, end_cutoff_s=_to("2024-03-31"))
    assert gone.needed_for(output, DAY) is None


@pytest.mark.parametrize("own", [HOUR, DAY, WEEKS, MONTH], ids=str)
@pytest.mark.parametrize("table", [HOUR, DAY, WEEKS, MONTH], ids=str)
def test_an_offset_to_before_the_calendar_needs_all_earlier_partitions(
    own: Calendar, table: Calendar
) -> None:
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
def test_exactly_the_partitions_that_overlap_the_output_are_needed(
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
