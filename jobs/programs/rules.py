"""Limits on the cost of fetching a program, and allowed hosts."""

from typing import Final

from msgspec import Struct

_MIB: Final = 1024 * 1024


class Rules(Struct, frozen=True, kw_only=True):
    """Limits of one store of programs.

    ``hosts`` are names or addresses that may be fetched from although they are private, loopback or link-local; ``*``
    means every host. ``ratio_max`` is the maximum size of a member or archive in multiples of its compressed size.
    ``versions_max`` is the number of versions to keep that no run has used for a day. ``dir_bytes_max`` limits all
    versions together, used or not.
    """

    fetch_timeout_s: float = 300.0
    bytes_max: int = 512 * _MIB
    unpacked_bytes_max: int = 2048 * _MIB
    files_max: int = 20_000
    ratio_max: int = 200
    hosts: tuple[str, ...] = ()
    versions_max: int = 20
    dir_bytes_max: int = 10 * 1024 * _MIB
