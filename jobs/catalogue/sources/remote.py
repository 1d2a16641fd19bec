"""Definitions on a server. The caller of ``load`` determines how an address is read."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

#: Prefix of the address of a branch in the ledger. The branch's name follows.
BRANCH = "branch://"

#: JSON: one text like the content of a file, or one text for each top-level entry.
Stored: TypeAlias = str | Mapping[str, str]


class Unread(Struct, frozen=True):
    """Reason why an address could not be read: one line, without the password."""

    why: str


#: Reads the present content of an address. It does not raise, because an unavailable server is an expected case.
Fetch: TypeAlias = Callable[[str], Stored | Unread]


def is_address(source: str) -> bool:
    return "://" in source


def fetch_nothing(address: str) -> Unread:
    """Refuse to read any address. It is the default for callers that only have files and modules."""
    return Unread(
        f"{address.partition(':')[0]}:// cannot be read here; write the definitions to a .json file"
    )
