"""Pages of lists: tokens for the beginning of the next page."""

import base64
import binascii
from typing import Annotated

from msgspec import Meta, Struct

from sluice.ops.console.http_message import Unreadable

LIMIT_MAX = 500
_NUMBER_MAX = 2**63 - 1

Limit = Annotated[int, Meta(ge=1, le=LIMIT_MAX)]


class Paging(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Page of a list. ``after`` is the ``next`` of the previous page."""

    after: str | None = None
    limit: Limit = 50

    @property
    def before(self) -> int | None:
        """Upper bound of the numbers on the page, which is not on the page itself. None for the first page."""
        return None if self.after is None else read_token(self.after)


def write_token(number: int | None) -> str | None:
    return None if number is None else base64.urlsafe_b64encode(b"n%d" % number).decode().rstrip("=")


def read_token(text: str) -> int:
    """Read a token. Unreadable if it is no token of a list."""
    try:
        told = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        told = ""
    digits = told.removeprefix("n")
    if told == digits or not digits.isdigit() or len(digits) > 19 or int(digits) > _NUMBER_MAX:
        raise Unreadable(
            "`after` is not a token of this list.", advice="Send the `next` of the previous page."
        )
    return int(digits)
