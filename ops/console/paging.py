"""Lists that come page by page: where the next page begins."""

import base64
import binascii
from typing import Annotated

from msgspec import Meta, Struct

from sluice.ops.console.exchange import Unreadable

LIMIT_MAX = 500
_NUMBER_MAX = 2**63 - 1

Limit = Annotated[int, Meta(ge=1, le=LIMIT_MAX)]


class Paging(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``after`` is the ``next`` of the page before."""

    after: str | None = None
    limit: Limit = 50

    @property
    def before(self) -> int | None:
        """The number that all of the page are below; None for the first page."""
        return None if self.after is None else read_token(self.after)


def write_token(number: int | None) -> str | None:
    return None if number is None else base64.urlsafe_b64encode(b"n%d" % number).decode().rstrip("=")


def read_token(text: str) -> int:
    """Unreadable for what is no token."""
    try:
        told = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        told = ""
    digits = told.removeprefix("n")
    if told == digits or not digits.isdigit() or len(digits) > 19 or int(digits) > _NUMBER_MAX:
        raise Unreadable("`after` is no token of this list.", advice="Send the `next` of the page before.")
    return int(digits)
