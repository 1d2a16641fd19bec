"""Page tokens: a written token can be read back, and any other text is refused."""

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.errors import BadRequest
from sluice.jobs.text.paging import CHARS_MAX, VERSION, Order, OrderBy, PagePosition, read_token, write_token

ORDER = Order(by=OrderBy.CREATED, descending=False)
ORDERS = st.builds(Order, by=st.sampled_from(OrderBy), descending=st.booleans())
TIMES = st.datetimes(timezones=st.just(UTC))


@given(ORDERS, st.none() | TIMES, st.integers(0, 2**63 - 1))
def test_a_token_is_read_as_it_was_written(order: Order, at: datetime | None, id: int) -> None:
    assert read_token(write_token(order, PagePosition(at, id)), order) == PagePosition(at, id)


def test_a_token_has_only_characters_that_are_easy_to_type() -> None:
    token = write_token(ORDER, PagePosition(datetime(2026, 1, 1, tzinfo=UTC), 7))
    assert token.replace(".", "").replace("-", "").replace("_", "").isalnum()


def _of(content: bytes) -> str:
    return VERSION + base64.urlsafe_b64encode(content).decode()


TOKEN = write_token(ORDER, PagePosition(datetime(2026, 1, 1, tzinfo=UTC), 7))
BAD = [
    ("", "does not begin with p1."),
    ("first", "does not begin with p1."),
    (TOKEN.replace("p1.", "p2."), "does not begin with p1."),
    (TOKEN.upper(), "does not begin with p1."),
    (TOKEN + "A" * CHARS_MAX, "does not begin"),
    (TOKEN + "!", "invalid characters"),
    (VERSION + "a", "it has invalid characters, or was cut short"),
    (VERSION + "é", "invalid characters"),
    (VERSION, "no valid start of the page"),
    (TOKEN[:-4], "no valid start of the page"),
    (_of(b"[]"), "no valid start of the page"),
    (_of(b"\xff\xfe"), "no valid start of the page"),
    (_of(b'["created",false,"yesterday",7]'), "no valid start of the page"),
    (_of(b'["created",false,"2026-01-01T00:00:00",7]'), "no valid start of the page"),
    (_of(b'["created",false,"2026-01-01T00:00:00Z",-1]'), "no valid start of the page"),
    (_of(b'["created",false,"2026-01-01T00:00:00Z",9223372036854775808]'), "no valid start of the page"),
    (_of(b'["key",false,"2026-01-01T00:00:00Z",7]'), "no valid start of the page"),
    (
        write_token(Order(), PagePosition()),
        "ordered by changed descending, and this list is ordered by created ascending",
    ),
    (write_token(Order(by=OrderBy.CREATED), PagePosition()), "ordered by created descending"),
]


@pytest.mark.parametrize(("token", "told"), BAD)
def test_an_invalid_or_foreign_token_is_refused(token: str, told: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_token(token, ORDER)
    assert told in error.value.what
    assert "start again with the first page" in error.value.advice


@given(st.text(), st.binary())
def test_any_other_text_is_refused_as_a_bad_request(text: str, content: bytes) -> None:
    for token in (text, VERSION + text, _of(content), _of(b'["created",false,' + content)):
        with pytest.raises(BadRequest):
            read_token(token, ORDER)


def test_the_time_in_a_token_may_have_any_zone() -> None:
    at = datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    assert read_token(write_token(ORDER, PagePosition(at, 7)), ORDER) == PagePosition(
        datetime(2026, 1, 1, tzinfo=UTC), 7
    )
