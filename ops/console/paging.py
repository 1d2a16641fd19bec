"""Pages of lists: tokens for the beginning of the next page."""

from typing import Annotated

from msgspec import Meta, Struct

from sluice.jobs.text.paging import ID_MAX, BadToken, decode, encode
from sluice.ops.console.http_message import Unreadable

LIMIT_MAX = 500

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
    return None if number is None else encode(number)


def read_token(text: str) -> int:
    """Read a token. Unreadable if it is no token of a list."""
    try:
        number = decode(text, int)
    except BadToken:
        number = -1
    if not 0 <= number <= ID_MAX:
        raise Unreadable(
            "`after` is not a token of this list.", advice="Send the `next` of the previous page."
        )
    return number
