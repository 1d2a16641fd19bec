"""Limits of requests, checked before the JSON is decoded."""

import pytest
from msgspec import json

from sluice.jobs.model.request_limits import (
    BYTES_MAX,
    DEPTH_MAX,
    DIGITS_MAX,
    MESSAGE_DEPTH_MAX,
    is_deeper,
    unfit,
)
from sluice.jobs.model.submission import KEYS_MAX, Submission, divided


def nested(levels: int) -> bytes:
    """Return lists and objects nested to this depth."""
    lists = levels // 2
    return b'[{"a":' * lists + (b"[]" if levels % 2 else b"1") + b"}]" * lists


@pytest.mark.parametrize(
    "text",
    [
        nested(DEPTH_MAX),
        b'{"app": "a", "kwargs": {"text": "' + b"[" * 1000 + b'\\"' + b"{" * 1000 + b'"}}',
        b"[" + b"[]," * 1000 + b"{}]",
        b'{"digits": "' + b"9" * 1000 + b'"}',
        b"[" + b"9" * DIGITS_MAX + b"]",
        b'"' + b"x" * (BYTES_MAX - 2) + b'"',
    ],
)
def test_text_within_the_limits_is_fit_and_can_be_decoded(text: bytes) -> None:
    assert unfit(text) == ""
    json.decode(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (nested(DEPTH_MAX + 1), "nests deeper than 64 levels"),
        (nested(5000), "nests deeper than 64 levels"),
        (b"[" * 5000, "nests deeper than 64 levels"),
        (b'{"a": "\\\\", "b": ' + nested(DEPTH_MAX) + b"}", "nests deeper than 64 levels"),
        (b'{"a": "\\u0000"}', "NUL"),
        (b"[1" + b"0" * DIGITS_MAX + b"]", "more than 308 digits"),
        (b'"' + b"x" * BYTES_MAX + b'"', "bytes"),
    ],
)
def test_text_above_a_limit_is_refused_with_the_reason(text: bytes, reason: str) -> None:
    assert reason in unfit(text)


def test_invalid_json_within_the_limits_is_left_to_the_decoder() -> None:
    assert unfit(b'"\\') == unfit(b"]]]}") == unfit(b'{"a": "' + b'\\"' * 1000) == ""


def test_a_message_may_nest_deeper_than_a_submission() -> None:
    assert not is_deeper(nested(2 * DEPTH_MAX), MESSAGE_DEPTH_MAX)
    assert is_deeper(nested(MESSAGE_DEPTH_MAX + 1), MESSAGE_DEPTH_MAX)


@pytest.mark.parametrize(
    ("keys", "runs"),
    [
        ([], 0),
        (["1"], 1),
        (["1"] * KEYS_MAX, 1),
        (["1"] * (KEYS_MAX + 1), 2),
        (["\u00e9" * 300_000] * 2, 2),
        (["x" * 1000] * 2000, 3),
    ],
)
def test_keys_are_divided_into_submissions_that_fit(keys: list[str], runs: int) -> None:
    found = [*divided(keys)]
    assert len(found) == runs
    assert [key for run in found for key in run] == keys
    for run in found:
        assert unfit(json.encode(Submission(app="a", keys=tuple(run)))) == ""
