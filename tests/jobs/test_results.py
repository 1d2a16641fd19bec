"""Results: the value that a function returns, as JSON, and the type that it is read with."""

import re
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Ending
from sluice.jobs.model.request_limits import DEPTH_MAX
from sluice.jobs.model.results import RESULT_BYTES_MAX, decoded, result_type
from sluice.jobs.runners.results import returned
from sluice.testing import run

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
PIPELINE = """
from dataclasses import dataclass
from datetime import date

from sluice import Success, app


@dataclass
class Report:
    day: date
    rows: int


@app(job_id="{day}", identifiers={"day": "date"})
def report(day) -> Report:
    return Report(date(2026, 11, 20), 7)


@app(job_id="{n}")
async def later(n):
    return [n]


@app(job_id="{n}")
def answers(n):
    return Success()


@app(job_id="{n}", isolate=True)
def apart(n):
    return {"n": n}


@app(job_id="{n}", isolate=True)
def much_apart(n):
    return '"\\\\\\n' * 1_000_000


@app(job_id="{n}", isolate=True)
def broken_apart(n):
    return {"n": object()}
"""


class Color(Enum):
    RED = "red"


class Point(msgspec.Struct):
    x: int
    y: object = None


@dataclass
class Report:
    day: date
    total: Decimal
    tags: set[str]


@pytest.mark.parametrize(
    "value",
    [
        0,
        "",
        [],
        False,
        {"a": [1, 2.5, None]},
        Point(1),
        Report(date(2026, 11, 20), Decimal("1.50"), {"a"}),
        datetime(2026, 11, 20, tzinfo=UTC),
        UUID(int=7),
        Color.RED,
        b"bytes",
        ("a", 1),
        "NUL \x00 in a text",
    ],
)
def test_any_value_that_msgspec_encodes_is_a_result_and_can_be_read_back(value: object) -> None:
    outcome = returned(value)
    assert (outcome.ending, outcome.error) == (Ending.DONE, None)
    assert outcome.result_json == msgspec.json.encode(value).decode()
    if not isinstance(value, tuple):
        assert decoded(outcome.result_json, type(value), "a/1") == value


def test_none_is_no_result() -> None:
    assert returned(None).result_json is None


def _endless() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object(), "the value at $ has the type builtins.object,"),
        (sys, "the value at $ has the type builtins.module,"),
        (
            {"rows": [1, {"when": object()}]},
            "the value at $['rows'][1]['when'] has the type builtins.object,",
        ),
        (Point(1, y=[object()]), "the value at $.y[0] has the type builtins.object,"),
        ({("a", 1): 2}, "the value at $: Only dicts with str-like or number-like keys are supported."),
        (["fine", "\ud800"], "the value at $[1]: 'utf-8' codec can't encode character"),
        (_endless(), "it contains itself, or is nested too deeply, at $[0]"),
    ],
)
def test_a_value_that_cannot_be_encoded_fails_the_job_finally_and_names_its_place(
    value: object, told: str
) -> None:
    outcome = returned(value)
    assert (outcome.ending, outcome.final, outcome.result_json) == (Ending.ERROR, True, None)
    assert outcome.error is not None
    assert outcome.error.startswith(f"Its result cannot be stored: {told}")


def test_a_result_over_the_limit_fails_the_job_finally() -> None:
    assert returned("x" * (RESULT_BYTES_MAX - 2)).error is None
    outcome = returned("x" * (RESULT_BYTES_MAX - 1))
    assert (outcome.ending, outcome.final) == (Ending.ERROR, True)
    assert "it has 16777217 bytes as JSON, and the limit is 16 MiB" in (outcome.error or "")


def test_a_result_that_readers_could_not_decode_fails_the_job_finally() -> None:
    value: object = 0
    for _ in range(DEPTH_MAX):
        value = [value]
    assert returned(value).error is None
    outcome = returned({"deep": value})
    assert (outcome.ending, outcome.final) == (Ending.ERROR, True)
    assert "it nests objects and lists deeper than 64 levels" in (outcome.error or "")


@pytest.fixture
def pipeline_source(tmp_path: Path) -> str:
    path = tmp_path / "pipeline.py"
    path.write_text(PIPELINE)
    return str(path)


@pytest.mark.parametrize(
    ("app", "key", "result"),
    [
        ("report", "20261120", {"day": "2026-11-20", "rows": 7}),
        ("later", "1", ["1"]),
        ("answers", "1", None),
        ("apart", "1", {"n": "1"}),
        ("much_apart", "1", '"\\\n' * 1_000_000),
    ],
)
def test_a_run_exposes_its_result(pipeline_source: str, app: str, key: str, result: object) -> None:
    outcome = run(pipeline_source, app, key)
    assert outcome.error is None
    assert outcome.result == result


def test_the_example_of_the_page_has_a_result(tmp_path: Path) -> None:
    source = tmp_path / "shop.py"
    source.write_text(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0])
    outcome = run(str(source), "sales", "graz_20261120")
    assert outcome.result == {"day": "2026-11-20", "shop": "graz", "orders": 12, "revenue": 480.0}


def test_an_isolated_function_fails_by_its_result_like_any_other(pipeline_source: str) -> None:
    outcome = run(pipeline_source, "broken_apart", "1")
    assert (outcome.ending, outcome.final) == (Ending.ERROR, True)
    assert "the value at $['n'] has the type builtins.object" in (outcome.error or "")


def test_a_result_is_decoded_into_the_annotation_of_its_function() -> None:
    def plain(): ...

    def typed() -> dict[int, Point]: ...

    async def awaited() -> "list[int]": ...

    def unknown() -> "NoSuchName": ...  # noqa: F821  # No such name exists.

    assert result_type(plain) is Any
    assert result_type(unknown) is Any
    assert decoded('{"7":{"x":1}}', result_type(typed), "a/1") == {7: Point(1)}
    assert decoded("[1]", result_type(awaited), "a/1") == [1]
    assert decoded("[1]", lambda value: [*value, 2], "a/1") == [1, 2]
    assert decoded("[1]", None, "a/1") == [1]


def test_a_result_that_does_not_fit_its_type_is_refused_with_the_name_of_the_job() -> None:
    with pytest.raises(
        BadRequest, match=r"The result of a/1 does not fit the type .*: Expected `int`, got `str`"
    ):
        decoded('"text"', int, "a/1")
