"""Templates, the types of identifiers, and the values that they accept."""

from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.jobs.errors import BadKey
from sluice.jobs.keys.identifiers import CHARS_MAX, Day, Days, Identifier, OneOf, Text, Values, Whole
from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App


def app(text: str, delimiter: str = "_", **kinds: Identifier) -> App:
    return App(
        name="a", origin="here", job_type="bash", template=Template.parse(text, delimiter), identifiers=kinds
    )


class TestKeys:
    @pytest.mark.parametrize(
        ("key", "canonical"),
        [("20140601_007_profile_x", "20140601_7_profile_x"), ("2014-06-01_-0__", "20140601_0__")],
    )
    def test_the_last_identifier_may_contain_the_delimiter(self, key: str, canonical: str) -> None:
        one = app("{day}_{n}_{t}", day=Day(), n=Whole())
        assert one.write_key(one.read_key(key)) == canonical

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("20140601_7", "it has 2 of 3 identifiers"),
            ("20140601__x", "at n, '' is not a whole number"),
            ("20140601_7_", "at t, it is empty"),
            ("20140601_1_a\nb", "at t, 'a\\nb' has characters that cannot be printed"),
            ("20140601_1_" + "x" * (CHARS_MAX + 1), f"has more than {CHARS_MAX} characters"),
            ("20140601_ 7_x", "at n, ' 7' is not a whole number"),
            ("20140601_٣_x", "at n, '٣' is not a whole number"),
            ("2014066_7_x", "at day, '2014066' is not a day"),
            ("20140230_7_x", "at day, '20140230' is not a day"),
            ("2014-0601_7_x", "at day, '2014-0601' is not a day"),
            ("00010101_7_x", "at day, '00010101' is not a day"),
        ],
    )
    def test_a_key_that_does_not_fit_is_refused(self, key: str, words: str) -> None:
        one = app("{day}_{n}_{t}", day=Day(), n=Whole())
        with pytest.raises(BadKey) as caught:
            one.read_key(key)
        assert words in caught.value.what

    @pytest.mark.parametrize("key", [".", ".."])
    def test_a_key_that_cannot_be_part_of_a_url_is_refused(self, key: str) -> None:
        with pytest.raises(BadKey, match="has no valid address"):
            app("{t}").read_key(key)
        assert app("{t}_{u}").read_key(f"{key}_x") == {"t": key, "u": "x"}

    @given(
        st.sampled_from(["_", "-", "__", "-_-", "."]),
        st.lists(st.text(st.sampled_from("a_-.1"), min_size=1, max_size=4), min_size=2, max_size=3),
    )
    def test_values_that_fit_are_read_back_as_they_were_written(
        self, delimiter: str, texts: list[str]
    ) -> None:
        names = ["x", "y", "z"][: len(texts)]
        one = app(delimiter.join(f"{{{name}}}" for name in names), delimiter)
        ids = dict(zip(names, texts, strict=True))
        assume(all(one.accepts(name, text) for name, text in ids.items()))
        assert one.read_key(one.write_key(ids)) == ids

    @given(st.text(max_size=12))
    def test_a_canonical_key_stays_the_same_when_read_again(self, key: str) -> None:
        one = app("{n}_{t}", n=Whole())
        try:
            canonical = one.write_key(one.read_key(key))
        except BadKey:
            return
        assert one.write_key(one.read_key(canonical)) == canonical

    def test_a_value_of_another_type_is_not_accepted(self) -> None:
        one = app("{n}_{t}", n=Whole())
        assert (one.accepts("n", 7), one.accepts("n", "7"), one.accepts("t", 7)) == (True, False, False)

    def test_the_example_key_uses_values_of_the_definition(self) -> None:
        one = app("{day}_{n}_{t}_{u}", day=Day(), n=Whole(), t=OneOf(("red", "blue")))
        assert one.example_key == "20140601_7_red_abc"


class TestValues:
    def test_a_huge_range_is_never_unrolled(self) -> None:
        values = Values(range(0, 10**15, 2))
        assert len(values) == 5 * 10**14
        assert 10**15 - 2 in values
        assert all(value not in values for value in (10**15, 1, -2, "2", None))
        assert next(iter(values)) == 0

    @given(st.dates(date(1000, 1, 1), date(2999, 1, 1)), st.integers(0, 400), st.integers(1, 40))
    def test_the_values_of_a_day_range_are_calendar_days(self, first: date, length: int, step: int) -> None:
        end = date.fromordinal(first.toordinal() + length)
        days = Days.span(first, end, step)
        listed = [*days]
        assert len(days) == len(listed) == len(range(0, length, step))
        assert all(day in days for day in listed)
        expected = [date.fromordinal(ordinal) for ordinal in range(first.toordinal(), end.toordinal(), step)]
        assert listed == [int(f"{day:%Y%m%d}") for day in expected]

    @pytest.mark.parametrize("value", [20140632, 20140600, 7, "20140601", None])
    def test_an_invalid_day_is_in_no_span(self, value: object) -> None:
        assert value not in Days.span(date(2014, 6, 1), date(2014, 7, 1))

    def test_values_are_equal_if_they_contain_the_same(self) -> None:
        assert Values([1, 2]) == Values((1, 2)) != Values([2, 1])
        assert Values(range(3)) == Values(range(0, 3, 1))
        assert len({Values(["x"]), Values(["x"])}) == 1


def test_a_text_identifier_keeps_leading_zeros() -> None:
    assert Text().parse("007") == "007"
