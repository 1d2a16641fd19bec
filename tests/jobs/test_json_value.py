"""Python values that are accepted as JSON."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.text.json_value import as_json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=9
)


@given(VALUES)
def test_json_values_stay_equal_and_survive_encoding(value: Any) -> None:
    assert as_json(value) == value
    assert msgspec.json.decode(msgspec.json.encode(as_json(value))) == value


def test_tuples_become_lists_and_the_result_is_a_copy() -> None:
    value: dict[str, Any] = {"a": [(1, 2)]}
    plain = as_json(value)
    value["a"].append(3)
    assert plain == {"a": [[1, 2]]}


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, "no JSON value"),
        (b"x", "no JSON value"),
        (object, "no JSON value"),
        ({1: 2}, "no JSON value"),
        (float("inf"), "no JSON value"),
        ([2**63], "does not fit into 64 bits"),
        ({"k": "\0"}, "characters that the ledger cannot store"),
        ({"\ud800": 1}, "characters that the ledger cannot store"),
        (_endless(), "nests too deeply"),
    ],
)
def test_a_value_that_is_not_json_is_refused(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        as_json(value)
