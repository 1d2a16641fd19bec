"""The part of a table that an app reads: spellings of offsets and cut-offs."""

from typing import Any

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.keys.partitions import Offset
from tests.jobs.catalogue.sources import write
from tests.jobs.catalogue.tables import begin_s, partitioning_of, read

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ({}, Offset(), Offset()),
        ({"start_offset": 90}, Offset(90), Offset()),
        ({"end_offset": 2}, Offset(), Offset(2)),
        ({"start_offset": "1d"}, Offset(seconds=86_400), Offset()),
        ({"start_offset": "1d12h", "end_offset": "30m"}, Offset(seconds=129_600), Offset(seconds=1800)),
        ({"offset": 3}, Offset(3), Offset(3)),
        ({"offset": "1w"}, Offset(seconds=604_800), Offset(seconds=604_800)),
        ({"offset": 3, "start_offset": 5}, Offset(5), Offset(3)),
        ({"offset": 3, "end_offset": 1}, Offset(3), Offset(1)),
        ({"offset": 3, "start_offset": None}, None, Offset(3)),
        ({"offset": 3, "end_offset": None}, Offset(3), Offset()),
        ({"offset": None}, None, Offset()),
        ({"start_offset": None}, None, Offset()),
        ({"start_offset": None, "end_offset": None}, None, Offset()),
        ({"start_cutoff": "2024-01-01"}, None, Offset()),
        ({"start_cutoff": "2024-01-01", "end_offset": 1}, None, Offset(1)),
        ({"start_cutoff": "2024-01-01", "start_offset": 0}, Offset(), Offset()),
        ({"start_cutoff": "2024-01-01", "offset": 7}, Offset(7), Offset(7)),
        ({"start_cutoff": None}, Offset(), Offset()),
        ({"end_cutoff": "2024-01-01"}, Offset(), Offset()),
        ({"start_offset": 2**31 - 1}, None, Offset()),
        ({"start_offset": 10**30}, None, Offset()),
        ({"start_offset": "4000000d"}, None, Offset()),
        ({"start_offset": "99999999999999999999d"}, None, Offset()),
        ({"start_offset": 3_000_000}, Offset(3_000_000), Offset()),
    ],
)
def test_offsets_are_parsed_into_partitions_or_seconds(
    words: dict[str, Any], start: Offset | None, end: Offset
) -> None:
    dependency = read(words)
    assert (dependency.start_offset, dependency.end_offset) == (start, end)


@pytest.mark.parametrize(
    ("unit", "many"), [("hour", 88_000_000), ("day", 3_670_000), ("week", 524_300), ("month", 120_300)]
)
def test_an_offset_of_ten_thousand_years_in_any_unit_means_all_partitions(unit: str, many: int) -> None:
    assert read({"start_offset": many}, own=unit).start_offset is None
    assert read({"start_offset": many // 2}, own=unit).start_offset == Offset(many // 2)


@pytest.mark.parametrize(
    ("written", "own", "raw", "first", "after"),
    [
        ("2024-04-05", "day", "day", "2024-04-05-00", "2024-04-06-00"),
        ("2024-04-05", "day", "hour", "2024-04-05-00", "2024-04-06-00"),
        ("2024-04-05", "hour", "month", "2024-04-05-00", "2024-04-06-00"),
        ("2024-04-05-13", "day", "hour", "2024-04-05-13", "2024-04-05-14"),
        ("2024-04-05-13", "day", "day", "2024-04-05-13", "2024-04-05-14"),
        ("2024-02", "day", "day", "2024-02-01-00", "2024-03-01-00"),
        ("2024-W14", "day", "day", "2024-04-01-00", "2024-04-08-00"),
        ("2024-04-03", "week", "day", "2024-04-03-00", "2024-04-04-00"),
        ("2023-12", "day", "month", "2023-12-01-00", "2024-01-01-00"),
        ("20240405", "day", {"format": "%Y%m%d"}, "2024-04-05-00", "2024-04-06-00"),
        (20240405, "day", {"format": "%Y%m%d"}, "2024-04-05-00", "2024-04-06-00"),
        (20240405, "day", "day", "2024-04-05-00", "2024-04-06-00"),
        (202404, "day", {"unit": "month", "format": "%Y%m"}, "2024-04-01-00", "2024-05-01-00"),
        ("2024-04-05", "day", {"format": "%Y%m%d"}, "2024-04-05-00", "2024-04-06-00"),
        ("05.04.2024", {"format": "%d.%m.%Y"}, "hour", "2024-04-05-00", "2024-04-06-00"),
        ("2024-05-04", "day", {"format": "%Y-%d-%m"}, "2024-04-05-00", "2024-04-06-00"),
    ],
)
def test_a_cutoff_is_in_the_format_of_its_table_or_a_usual_format(
    written: Any, own: Any, raw: Any, *, first: str, after: str
) -> None:
    start = read({"start_cutoff": written}, own=own, raw=raw)
    end = read({"end_cutoff": written}, own=own, raw=raw)
    assert (start.start_cutoff_s, start.end_cutoff_s) == (begin_s(first, "hour"), None)
    assert (end.start_cutoff_s, end.end_cutoff_s) == (None, begin_s(after, "hour"))


@pytest.mark.parametrize(
    ("written", "unit", "first", "after"),
    [
        ("2024-04-05", "day", "2024-04-05-00", "2024-04-06-00"),
        ("2024-04-05 13:30:00", "hour", "2024-04-05-13", "2024-04-05-14"),
        ("2024-04-05T13:30:00+02:00", "hour", "2024-04-05-11", "2024-04-05-12"),
        ("2024-04-05 13:30:00", "day", "2024-04-05-00", "2024-04-06-00"),
        ("20240405", "day", "2024-04-05-00", "2024-04-06-00"),
        ("2024-04", "month", "2024-04-01-00", "2024-05-01-00"),
    ],
)
def test_dates_and_times_of_yaml_are_accepted_as_cutoffs(
    written: str, unit: str, first: str, after: str
) -> None:
    text = f"""
        raw: {{partition: {unit}}}
        a: {{table_dependencies: [{{table: raw, start_cutoff: {written}, end_cutoff: {written}}}]}}
    """
    (dependency,) = partitioning_of(load([write("a.yaml", text)]).app("a")).dependencies
    assert (dependency.start_cutoff_s, dependency.end_cutoff_s) == (
        begin_s(first, "hour"),
        begin_s(after, "hour"),
    )
