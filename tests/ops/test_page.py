"""Lines and tables in the output for people, at any width."""

from datetime import UTC, datetime

import pytest

from sluice.jobs.states import State
from sluice.jobs.text.units import instant, past
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.text import legible, moment, precise, span

KEY = "20261120_a_rather_long_client_name_number_03"


def shown(block: Block, width: int | None) -> list[str]:
    return ["".join(text for text, _ in spans) for spans in block.lines(width)]


def test_columns_are_aligned() -> None:
    table = Table(("app", "key", "state"), [("a", "1", State.READY), ("longer", "22", State.FAILED)])
    assert shown(table, None) == ["app     key  state", "a       1    ready", "longer  22   failed"]


def test_cells_without_room_go_below_and_are_not_broken() -> None:
    table = Table(("app", "key", "state", "round"), [("extract_transactions", KEY, State.UPSTREAM_FAILED, 0)])
    assert shown(table, 80) == [
        "app                   key",
        "    state            round",
        f"extract_transactions  {KEY}",
        "    upstream_failed  0",
    ]
    assert all(KEY in "\n".join(shown(table, width)) for width in (20, 40, 60, 120))


def test_prose_is_wrapped_between_words_within_its_column() -> None:
    table = Table(("key", "error"), [("1", "the till in oslo does not answer today")], prose=True)
    assert shown(table, 32) == ["key  error", "1    the till in oslo does not", "     answer today"]


def test_prose_without_room_goes_below() -> None:
    table = Table(("key", "error"), [(KEY, "the till in oslo does not answer"), ("2", "")], prose=True)
    assert shown(table, 50) == ["key", "    error", KEY, "    the till in oslo does not answer", "2"]


def test_a_table_without_rows_prints_its_empty_text() -> None:
    assert shown(Table(("app",), [], empty="No jobs."), 80) == ["No jobs."]


def test_a_wrapped_line_keeps_its_indent_and_its_words() -> None:
    assert shown(Paragraph("waits for fetch/20261120_oslo, which is ready", indent=2), 30) == [
        "  waits for",
        "  fetch/20261120_oslo, which",
        "  is ready",
    ]


def test_text_of_users_cannot_move_the_cursor() -> None:
    assert legible("a\x1b[2Jb\nc") == "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}c"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (-0.5, "0 ms"),
        (0.0042, "4 ms"),
        (0.25, "0.25 s"),
        (7, "7 s"),
        (59.94, "59.9 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (97_200, "1 d 3 h"),
    ],
)
def test_durations_are_printed_in_units_that_fit(seconds: float | None, words: str) -> None:
    assert span(seconds) == words


def test_times_are_printed_in_utc() -> None:
    at = datetime.fromisoformat("2026-11-20T03:00:00.0425+01:00")
    assert moment(at) == "2026-11-20 02:00:00"
    assert precise(at) == "2026-11-20 02:00:00.042"
    assert moment(None) == ""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-20T03:00:00+01:00", datetime(2026, 11, 20, 2, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("20261120", datetime(2026, 11, 20, tzinfo=UTC)),
        ("1795140000", datetime(2026, 11, 20, 2, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_several_formats(text: str, at: datetime) -> None:
    assert instant(text) == at


def test_a_duration_is_read_as_a_time_in_the_past() -> None:
    now = datetime(2026, 11, 20, 2, tzinfo=UTC)
    assert past("90m", now) == datetime(2026, 11, 20, 0, 30, tzinfo=UTC)
    with pytest.raises(ValueError, match="'soon' is neither a time nor a duration"):
        past("soon", now)
