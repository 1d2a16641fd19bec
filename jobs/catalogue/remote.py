"""Definitions that lie on a server. How an address is read is for the caller of ``load`` to say."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

#: What the address of a branch that the ledger keeps begins with; its name follows.
BRANCH = "branch://"

#: JSON: one text as it would stand in a file, or one for each word at the top of it.
Stored: TypeAlias = str | Mapping[str, str]


class Unread(Struct, frozen=True):
    """Why nothing could be had from an address: one line, without the password."""

    why: str


#: Reads what lies at an address now. It does not raise: a server that is away is no surprise.
Fetch: TypeAlias = Callable[[str], Stored | Unread]


def is_address(source: str) -> bool:
    return "://" in source


def fetch_nothing(address: str) -> Unread:
    """For whoever has files and modules only."""
    return Unread(f"{address.partition(':')[0]}:// is not read here; write the definitions to a .json file")
