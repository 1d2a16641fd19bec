"""Paging through lists of jobs: their order and the start of the next page.

A token names the last job of a page, by the time that orders the list and, for equal times, by the job's id. So the
next page begins exactly after it, even if jobs were added or removed in between.
"""

import base64
import binascii
from datetime import datetime
from enum import StrEnum
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Struct

from sluice.jobs.errors import BadRequest

#: Prefix of tokens of this format.
VERSION = "p1."
#: Largest page, in jobs.
PAGE_MAX = 10_000
#: Largest id of a job, and largest number of any other row.
ID_MAX = 2**63 - 1
#: Longest token, in characters. The longest content is a key of a job.
CHARS_MAX = 8000

T = TypeVar("T")


class OrderBy(StrEnum):
    CREATED = "created"
    CHANGED = "changed"


class Order(Struct, frozen=True, kw_only=True):
    """Order of a list: by which time, and whether the latest comes first."""

    by: OrderBy = OrderBy.CHANGED
    descending: bool = True

    def __str__(self) -> str:
        return f"{self.by} {'descending' if self.descending else 'ascending'}"


class PagePosition(Struct, frozen=True):
    """Position after the job with this id and time. Without either it is the position before the first job."""

    at: datetime | None = None
    id: int = 0


class _Token(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    by: OrderBy
    descending: bool
    at: datetime | None
    id: int


class BadToken(Exception):
    """Text that is no page token. The message is the reason."""


def encode(content: object) -> str:
    """Return a page token with this content, for any list. It is safe in URLs."""
    return VERSION + base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


def decode(text: str, kind: type[T]) -> T:
    """Return the content of a page token. Raises BadToken."""
    if len(text) > CHARS_MAX or not text.startswith(VERSION):
        raise BadToken(f"it does not begin with {VERSION}, as tokens of this version of Sluice do")
    encoded = text.removeprefix(VERSION)
    try:
        content = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadToken("it has invalid characters, or was cut short") from None
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadToken("it has no valid start of the page") from None


def write_token(order: Order, place: PagePosition) -> str:
    return encode(_Token(order.by, order.descending, place.at, place.id))


def read_token(text: str, order: Order) -> PagePosition:
    """Return the position that a token stores. Raises BadRequest if it is not a token of a list in this order."""
    try:
        token = decode(text, _Token)
    except BadToken as why:
        _refuse(str(why))
    if (token.at is not None and token.at.tzinfo is None) or not 0 <= token.id <= ID_MAX:
        _refuse("it has no valid start of the page")
    of = Order(by=token.by, descending=token.descending)
    if of != order:
        _refuse(f"it belongs to a list ordered by {of}, and this list is ordered by {order}")
    return PagePosition(token.at, token.id)


def _refuse(why: str) -> NoReturn:
    raise BadRequest(
        f"The page's token cannot be used: {why}.",
        advice="Pass the token unchanged and with the same order, or start again with the first page.",
    )
