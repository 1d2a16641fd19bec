"""Work IDs as lists, parts and texts: each form can be read back."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.keys import work_ids
from sluice.jobs.keys.work_ids import (
    IDS_MAX,
    WorkId,
    ids_of,
    parse_work_ids,
    parts_of,
    short_text_of,
    text_of,
)

_WHOLE_MAX = 2**63 - 1
NUMBERS = st.integers(-20, 20) | st.integers(-_WHOLE_MAX, _WHOLE_MAX)
#: Letters only, because a text of IDs that contains separators or numbers cannot be read back.
NAMES = st.text("abcxyz", min_size=1, max_size=3)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9).filter(
    # A text that looks like a number is refused among numbers.
    lambda text: text.isprintable() and not re.fullmatch(r"-?\d+(--?\d+)?", text)
)
MIXED = st.lists(NUMBERS | TEXTS, max_size=30)


@given(MIXED)
def test_parts_can_be_read_back(raw: list[WorkId]) -> None:
    ids = parse_work_ids(raw)
    parts = parts_of(ids)
    assert set(ids) == set(raw)
    assert tuple(ids_of(parts)) == ids
    assert parse_work_ids(parts) == ids
    assert len(parts) <= len(ids)


@given(st.lists(NUMBERS, max_size=30) | st.lists(NAMES, max_size=9))
def test_a_text_of_ids_can_be_read_back(raw: list[WorkId]) -> None:
    ids = parse_work_ids(raw)
    assert parse_work_ids(text_of(ids)) == ids


@given(MIXED.filter(len))
def test_a_short_text_has_a_limited_length(raw: list[WorkId]) -> None:
    ids = parse_work_ids(raw)
    assert len(short_text_of(ids)) <= max(60, len(str(ids[0])) + len(str(ids[-1])) + 10)


def test_different_ids_have_different_short_texts() -> None:
    """Otherwise a chunk of two IDs and a chunk of one ID could have the same name."""
    assert short_text_of(["a", "a!"]) == "a,a!"
    assert short_text_of(["a,a!"]) == r"a\,a!"
    assert short_text_of(["1..9:3"]) == r"1\..9:3"
    assert short_text_of(["me@home", "x.y"]) == "me@home,x.y"


@pytest.mark.parametrize(
    ("ids", "parts", "text"),
    [
        ([], [], ""),
        ([0, 1, 2, 3, 4, 7, 8, 9, 11], [(0, 4), (7, 9), (11,)], "0-4,7-9,11"),
        ([-3, -2, -1, 5], [(-3, -1), (5,)], "-3--1,5"),
        ([1, "a", "b"], [(1,), "a", "b"], "1,a,b"),
        (["1", "x"], ["1", "x"], "1,x"),
    ],
)
def test_ids_have_these_parts_and_this_text(ids: list[WorkId], parts: list[Any], text: str) -> None:
    assert parts_of(parse_work_ids(ids)) == parts
    assert text_of(parse_work_ids(ids)) == text


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (" 1 - 3 ", None),
        ("1-3, 7", (1, 2, 3, 7)),
        ("-5--3", (-5, -4, -3)),
        ("-1-1", (-1, 0, 1)),
        ("5", (5,)),
        ("007", (7,)),
        ("7,north", ("7", "north")),
        ("2014-06-01", ("2014-06-01",)),
        ("1.5.2,v1.5", ("1.5.2", "v1.5")),
        ("[[1, 3], 7]", (1, 2, 3, 7)),
        (' ["7", "north"]', ("7", "north")),
        ('["1.5"]', ("1.5",)),
        ("[]", ()),
        ("  ", ()),
    ],
)
def test_a_text_is_parsed_into_these_ids(text: str, ids: tuple[WorkId, ...] | None) -> None:
    assert parse_work_ids(text) == (ids if ids is not None else ("1 - 3",))


@pytest.mark.parametrize("raw", [[[1, 3], [7]], [[1, 2, 3], 7], "1-3,7", [7, 3, 2, 1], ([1, 3], 7)])
def test_several_spellings_name_the_same_ids(raw: Any) -> None:
    assert parse_work_ids(raw) == (1, 2, 3, 7)


def test_a_submission_may_name_a_limited_number_of_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="more than 1,000,000 work IDs"):
        parse_work_ids(f"1-{IDS_MAX + 1}")
    monkeypatch.setattr(work_ids, "IDS_MAX", 100)
    assert len(parse_work_ids([[1, 100]])) == 100
    for raw in ([[0, 100]], [[1, 100], 7], [[1, 100], [1, 100]], "1-50,51-101"):
        with pytest.raises(ValueError, match="more than 100 work IDs"):
            parse_work_ids(raw)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([[3, 1]], "ends before it begins"),
        ("3-1", "'3-1' ends before it begins"),
        ("1,,2", "'' is no work ID"),
        ("1.5,2.5", '1.5 is no work ID; work IDs are whole numbers or texts; for a text write \\["1.5"\\]'),
        ("-.5", "-.5 is no work ID"),
        ("[1, 2", "begins like a list but is none"),
        ([7, "7"], "'7' is a text among numbers and looks like one"),
        (["1-3", 1], "'1-3' is a text among numbers and looks like one"),
        (["x" * 201], "a text has 1 to 200 characters"),
        (["a\nb"], "that can be printed"),
        ([2**63], "does not fit into 64 bits"),
        (f"{2**63}", "does not fit into 64 bits"),
        ([["a", "b"]], "'a' is no work ID"),
        ([[1, True]], "True is no work ID"),
        ({1: 2}, "is not a list of work IDs"),
        (None, "is not a list of work IDs"),
    ],
)
def test_an_invalid_work_id_is_refused_with_the_reason(raw: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_work_ids(raw)
