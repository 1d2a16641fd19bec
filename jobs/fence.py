"""What a worker puts around the processes that it starts for jobs, as its operator has it."""

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    """How much. Each has what the one before has.

    ``off``: a session of their own, an environment by list, an empty stdin. ``limits``: no way to more rights than the
    worker has (``sudo`` and the like), no core dumps. ``bubblewrap``: a machine of their own to look at, which is this
    one, without its network, its other processes, and whatever they could change.
    """

    OFF = "off"
    LIMITS = "limits"
    BUBBLEWRAP = "bubblewrap"


class Fence(Struct, frozen=True, kw_only=True):
    """``writable`` and ``hidden`` are absolute paths. Both, and ``network``, matter to ``bubblewrap`` alone."""

    level: Level = Level.LIMITS
    network: bool = False
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
