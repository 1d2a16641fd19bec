"""Debug options of a submission, with which an author tests how a flight recovers and is undone."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

#: Answer that replaces the real one.
Injected = Literal["retry", "fatal"]


class Debug(Struct, frozen=True, kw_only=True):
    """Debug options. ``restart_each_step`` hands the flight back at each boundary, as if its worker had died there.

    The other options let a step run and then replace its answer, once in each run. They select the step by its index,
    or select the do or the undo by the step's name. ``fail_last`` selects the last do.
    """

    restart_each_step: bool = False
    fail_at: Mapping[int, Injected] = {}
    fail_do: Mapping[str, Injected] = {}
    fail_undo: Mapping[str, Injected] = {}
    fail_last: bool = False
