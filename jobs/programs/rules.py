"""How much a program may cost to get, and from where it may come."""

from typing import Final

from msgspec import Struct

_MIB: Final = 1024 * 1024


class Rules(Struct, frozen=True, kw_only=True):
    """The limits of one store of programs.

    ``hosts`` are names or addresses that may be reached though they are private, loopback or link-local; ``*`` is
    every host. ``ratio_max`` is how many times larger than its compressed bytes a member or archive may become.
    ``versions_max`` is how many versions are kept that no run used for a day. ``dir_bytes_max`` bounds all versions
    together, used or not.
    """

    fetch_timeout_s: float = 300.0
    bytes_max: int = 512 * _MIB
    unpacked_bytes_max: int = 2048 * _MIB
    files_max: int = 20_000
    ratio_max: int = 200
    hosts: tuple[str, ...] = ()
    versions_max: int = 20
    dir_bytes_max: int = 10 * 1024 * _MIB
