"""What a submission may ask of a flight so that its author sees how it recovers and undoes."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

#: What an answer may be replaced by.
Injected = Literal["retry", "fatal"]


class Debug(Struct, frozen=True, kw_only=True):
    """``restart_each_step`` hands the flight back at each boundary, as if its worker had died there.

    The others let a step run and then replace what it has answered, once in each run: at an index, in the do or undo of
    the steps of a name, and, with ``fail_last``, of the last do.
    """

    restart_each_step: bool = False
    fail_at: Mapping[int, Injected] = {}
    fail_do: Mapping[str, Injected] = {}
    fail_undo: Mapping[str, Injected] = {}
    fail_last: bool = False
