"""Texts with placeholders for a due time."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sluice.jobs.schedules.due_template import fill, speaks_of_due

BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime(2026, 3, 29, 3, 0, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("{due}", "2026-03-29T03:00:00+02:00"),
        ("{due:%Y%m%d}", "20260329"),
        ("{due:%Y-%m-%d}_{due:%H}", "2026-03-29_03"),
        ("{due-1d:%Y%m%d %H:%M}", "20260328 03:00"),
        ("{due-1d}", "2026-03-28T03:00:00+01:00"),
        ("{due-1w:%d.%m.}", "22.03."),
        ("{due+7d:%Y%m%d}", "20260405"),
        ("{due-1w:%G-W%V}", "2026-W12"),
        # Six hours before three in the morning, in a night that is one hour shorter.
        ("{due-6h:%d %H:%M}", "28 20:00"),
        ("{due-1d-6h:%d %H:%M}", "27 21:00"),
        ("{due+90m:%H:%M}", "04:30"),
        ("{due+30s:%S}", "30"),
        ("{{due}}", "{due}"),
        ("{{{due:%Y}}}", "{2026}"),
        ("}}{{", "}{"),
        ("100%", "100%"),
        ("{due:%%}", "%"),
        ("{due:%a}", "Sun"),
    ],
)
def test_placeholders_are_filled_with_the_due_time(text: str, expected: str) -> None:
    assert fill(text, DUE) == expected


def test_a_day_earlier_is_the_same_wall_time_or_the_gap_end() -> None:
    day_after = datetime(2026, 3, 30, 2, 30, tzinfo=BERLIN)
    assert fill("{due-1d:%d %H:%M}", day_after) == "29 03:00"
    second = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)
    assert fill("{due} {due-1d} {due+1d} {due-1h}", second) == (
        "2026-10-25T02:30:00+01:00 2026-10-24T02:30:00+02:00 2026-10-26T02:30:00+01:00 2026-10-25T02:30:00+02:00"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{date}", "{date} is no placeholder; write {due:%Y%m%d}, {due-1d:%Y%m%d} or {due}, and {{ and }} for braces"),
        ("{}", "{} is no placeholder"),
        ("{due:}", "{due:} is no placeholder"),
        ("{due-1}", "{due-1} is no placeholder"),
        ("{due-1y:%Y}", "is no placeholder"),
        ("{ due }", "is no placeholder"),
        ("{due", "'{' is unpaired in '{due'; write {{ for a brace"),
        ("due}", "'}' is unpaired in 'due}'; write }} for a brace"),
        ("{due:%Q}", "%Q in '%Q' is no part of a time"),
        ("{due:100%}", "% in '100%' is no part of a time"),
    ],
)  # fmt: skip
def test_an_invalid_placeholder_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message differs by text
        fill(text, DUE)
    assert words in str(caught.value)


def test_texts_are_filled_at_any_depth_and_other_values_stay() -> None:
    value: Any = {"a": ["{due:%d}", {"b": "{due:%m}", "{due}": 7}], "c": None, "d": 1.5, "e": True}
    assert fill(value, DUE) == {"a": ["29", {"b": "03", "{due}": 7}], "c": None, "d": 1.5, "e": True}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("{due}", True), ("{{due}}", False), (None, False), ([1, ["x", {"k": "{due:%d}"}]], True), ({"{due}": 1}, False)],
)  # fmt: skip
def test_a_value_depends_on_the_due_time_if_a_text_has_a_placeholder(value: Any, expected: bool) -> None:
    assert speaks_of_due(value) is expected


def test_a_time_beyond_the_calendar_raises_an_overflow_error() -> None:
    with pytest.raises(OverflowError):
        fill("{due+999999w:%Y}", datetime(2026, 1, 1, tzinfo=UTC))
