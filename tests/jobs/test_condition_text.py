"""Conditions as text: their meaning, and the position of a fault."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.errors import BadRequest
from sluice.jobs.text.filter_parser import CHARS_MAX, parse_condition
from sluice.jobs.text.filters import (
    COMPARISONS_MAX,
    DEPTH_MAX,
    And,
    Compare,
    Condition,
    Field,
    Input,
    Not,
    Operator,
    Or,
    comparisons,
)

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
A = Compare(Field.APP, Operator.EQUAL, "a")
B = Compare(Field.APP, Operator.EQUAL, "b")
C = Compare(Field.APP, Operator.EQUAL, "c")


def _input(value: object, operator: Operator = Operator.EQUAL) -> Compare:
    return Compare(Input(("n",)), operator, value)


SAID: list[tuple[str, Condition]] = [
    ("app=a", A),
    ("  app = a  ", A),
    ("APP = a", A),
    ("app = 'a'", A),
    ('app = "a"', A),
    ("((app = a))", A),
    ("app = a or app = b and app = c", Or((A, And((B, C))))),
    ("(app = a or app = b) and app = c", And((Or((A, B)), C))),
    ("not app = a and app = b", And((Not(A), B))),
    ("NOT (app = a AND app = b)", Not(And((A, B)))),
    ("not not app = a", Not(Not(A))),
    ("app = 'it''s \"so\"'", Compare(Field.APP, Operator.EQUAL, "it's \"so\"")),
    ('app = ""', Compare(Field.APP, Operator.EQUAL, "")),
    ("app = or", Compare(Field.APP, Operator.EQUAL, "or")),
    ("key = 007", Compare(Field.KEY, Operator.EQUAL, "007")),
    ("key = true", Compare(Field.KEY, Operator.EQUAL, "true")),
    ("key != 2026-01-01..2026-01-07@3f9c", Compare(Field.KEY, Operator.UNEQUAL, "2026-01-01..2026-01-07@3f9c")),
    ("state in (failed,fatal)", Compare(Field.STATE, Operator.IN, ("failed", "fatal"))),
    ("round >= 2", Compare(Field.ROUND, Operator.AT_LEAST, 2)),
    ("priority not in (-1, +3)", Compare(Field.PRIORITY, Operator.NOT_IN, (-1, 3))),
    ("created < 2h", Compare(Field.CREATED, Operator.LESS, NOW - timedelta(hours=2))),
    ("created > '2026-01-01 10:00'", Compare(Field.CREATED, Operator.GREATER, datetime(2026, 1, 1, 10, tzinfo=UTC))),
    ("changed <= 20260101", Compare(Field.CHANGED, Operator.AT_MOST, datetime(2026, 1, 1, tzinfo=UTC))),
    ("ended is null", Compare(Field.ENDED, Operator.EQUAL, None)),
    ("ended IS NOT NULL", Compare(Field.ENDED, Operator.UNEQUAL, None)),
    ("inputs.n = 9", _input(9)),
    ("inputs.n = -9.5e1", _input(-95.0)),
    ("inputs.n = 007", _input("007")),
    ("inputs.n = '9'", _input("9")),
    ("inputs.n = True", _input(True)),
    ("inputs.n = 'true'", _input("true")),
    ("inputs.n = null", _input(None)),
    ("inputs.n = 2026-01-01", _input("2026-01-01")),
    ("inputs.n = NaN", _input("NaN")),
    ('inputs.n={"a": [1, ")"], "b": null}and app=a', And((_input({"a": [1, ")"], "b": None}), A))),
    ("inputs.n in ([1], 'x', false)", _input(([1], "x", False), Operator.IN)),
    ("inputs.n is not null", _input(None, Operator.UNEQUAL)),
    ("inputs.a.b-c.1 = 1", Compare(Input(("a", "b-c", "1")), Operator.EQUAL, 1)),
    ("inputs.\"a.b\".'c d' = 1", Compare(Input(("a.b", "c d")), Operator.EQUAL, 1)),
    ("inputs.'it''s'=1", Compare(Input(("it's",)), Operator.EQUAL, 1)),
    ("inputs.app = inputs.key", Compare(Input(("app",)), Operator.EQUAL, "inputs.key")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "condition"), SAID, ids=[text for text, _ in SAID])
def test_a_text_is_parsed_into_a_condition(text: str, condition: Condition) -> None:
    assert repr(parse_condition(text, NOW)) == repr(condition)


FAULTS = [
    # Text, character of the fault, part of the message.
    ("", 1, "the end is no field of a condition"),
    ("   ", 4, "the end is no field of a condition"),
    ("app", 4, "the end is not followed by a comparison; write =, !=,"),
    ("app =", 6, "a value is missing before the end"),
    ("app a", 5, "'a' is not followed by a comparison"),
    ("app == a", 5, "'==' is not followed by a comparison"),
    ("app <> a", 5, "'<>' is not followed by a comparison"),
    ("app = a b", 9, "'b' does not belong here; conditions are joined by and, or"),
    ("app = a)", 8, "')' does not belong here"),
    ("(app = a", 9, ") is missing before the end"),
    ("app = a and", 12, "the end is no field of a condition"),
    ("app = a and or app = b", 13, "'or' is no field of a condition"),
    ("app = 'a", 7, "this quote is never closed"),
    ("app = a'", 8, "this quote is never closed"),
    ("colour = red", 1, "'colour' is no field of a condition; there are app, key, state,"),
    ("'app' = a", 1, "is no field of a condition"),
    ("inputs = 1", 1, "'inputs' is no field of a condition"),
    ("inputs. = 1", 1, "'inputs.' is no field of a condition"),
    ("inputs.a. = 1", 1, "'inputs.a.' is no field of a condition"),
    ("state = faild", 9, "'faild' is no state; there are expected, waiting,"),
    ("state in (failed, faild)", 19, "'faild' is no state"),
    ("state < failed", 1, "state is neither less nor greater"),
    ("type >= bash", 1, "type is neither less nor greater"),
    ("state is null", 1, "state is never null"),
    ("round = null", 9, "round is never null"),
    ("state in ()", 11, "a value is missing before ')'"),
    ("state in failed", 10, "( is missing before 'failed'"),
    ("state in (failed", 17, ") is missing before the end"),
    ("state not failed", 11, "in is missing before 'failed'"),
    ("ended is failed", 10, "null is missing before 'failed'"),
    ("ended < null", 9, "nothing is less or greater than null"),
    ("inputs.a in (1, null) and inputs.b >= null", 39, "nothing is less or greater than null"),
    ("created > soon", 11, "'soon' is neither a time nor a duration"),
    ("created > 1e300", 11, "'1e300' is neither a time nor a duration"),
    ("created = 99999999999999w", 11, "is neither a time nor a duration"),
    ("created = [1]", 11, "'[1]' is neither a time"),
    ("round > 1.5", 9, "round is a whole number, and '1.5' is none"),
    ("round = true", 9, "round is a whole number"),
    ("round = 9223372036854775808", 9, "does not fit into 64 bits"),
    ("inputs.a = 9223372036854775808", 12, "does not fit into 64 bits"),
    ("inputs.a = 1e999", 12, "inf is no JSON value"),
    ("inputs.a = " + "9" * 5000, 12, "a number with too many digits cannot be read"),
    ("inputs.a = [NaN]", 12, "nan is no JSON value"),
    ("inputs.a = [1, 2", 17, "the JSON that begins at character 12 ends here"),
    ("inputs.a = {a: 1}", 13, "the JSON that begins at character 12 ends here"),
    ("inputs.a = ]", 12, "this cannot be read"),
    ("inputs.a = " + "[" * 9000, 12, "this nests too deeply"),
    ("app = 'a\0b'", 7, "has characters that the ledger cannot store"),
    ("app = \udcff", 7, "has characters that the ledger cannot store"),
    ("inputs.'\0' = 1", 1, "has characters that the ledger cannot store"),
    ("inputs" + ".a" * 21 + " = 1", 1, "an input has 1 to 20 names"),
    ("(" * 60 + "app = a", DEPTH_MAX + 1, "it nests deeper than 50 levels"),
    ("not " * 60 + "app = a", 4 * DEPTH_MAX + 1, "it nests deeper than 50 levels"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "character", "told"), FAULTS, ids=[ascii(text[:30]) for text, *_ in FAULTS])
def test_a_fault_is_reported_with_its_position(text: str, character: int, told: str) -> None:
    with pytest.raises(BadRequest) as error:
        parse_condition(text, NOW)
    assert told in error.value.what
    assert error.value.where.partition(",")[0] == f"character {character}"
    for line in (error.value.what, error.value.where):
        assert line.isprintable()
        assert len(line) < 400


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("app = a " * CHARS_MAX, f"is more than {CHARS_MAX}"),
        (" or ".join(["app = a"] * (COMPARISONS_MAX + 1)), "more than 500 comparisons"),
    ],
    ids=["long", "many"],
)
def test_a_condition_above_the_limits_is_refused(text: str, told: str) -> None:
    with pytest.raises(BadRequest) as error:
        parse_condition(text, NOW)
    assert told in error.value.what


def test_the_maximum_number_of_comparisons_is_accepted() -> None:
    text = " or ".join(["app = a"] * COMPARISONS_MAX)
    assert len(comparisons(parse_condition(text, NOW))) == COMPARISONS_MAX


def test_conditions_built_in_code_have_the_same_limits() -> None:
    deep: Condition = A
    for _ in range(DEPTH_MAX):
        deep = Not(deep)
    wide = Or(tuple(And((A, B)) for _ in range(COMPARISONS_MAX)))
    listed = Or((Compare(Field.KEY, Operator.IN, tuple(map(str, range(5001)))),))
    for condition, told in ((deep, "deeper"), (wide, "comparisons"), (listed, "values")):
        with pytest.raises(BadRequest, match=told):
            comparisons(condition)


@pytest.mark.parametrize(
    ("subject", "operator", "value"),
    [
        (Field.STATE, Operator.EQUAL, "faild"),
        (Field.STATE, Operator.LESS, "failed"),
        (Field.STATE, Operator.IN, ()),
        (Field.STATE, Operator.IN, ["failed"]),
        (Field.APP, Operator.EQUAL, None),
        (Field.KEY, Operator.EQUAL, 7),
        (Field.ROUND, Operator.EQUAL, True),
        (Field.CREATED, Operator.EQUAL, "2026-01-01"),
        (Field.CREATED, Operator.EQUAL, datetime(2026, 1, 1)),  # noqa: DTZ001 - a time without a zone is the fault
        (Input(("a",)), Operator.EQUAL, object()),
        (Input(("a",)), Operator.EQUAL, float("nan")),
        (Input(("a",)), Operator.LESS, None),
    ],
)
def test_an_invalid_comparison_cannot_be_built_in_code(
    subject: Field | Input, operator: Operator, value: object
) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Compare(subject, operator, value)


WORDS = [
    "app",
    "inputs.a",
    "inputs.",
    "state",
    "ended",
    "created",
    "=",
    "<",
    "in",
    "is",
    "not",
    "null",
    "(",
    ")",
    ",",
    "and",
    "or",
    "failed",
    "1",
    "'x'",
    "'",
    '"',
    "[1]",
    "{",
    "2h",
    "é",
]
PIECES = st.sampled_from([*WORDS, "\0", "\ud800", " "])


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map(" ".join) | st.text())
def test_any_text_is_a_condition_or_a_fault_with_a_position(text: str) -> None:
    try:
        where = "character" if comparisons(parse_condition(text, NOW)) else ""
    except BadRequest as error:
        where = error.where
    assert where.startswith("character")
