"""Sandbox for the processes that a worker starts for jobs, as the operator configures it."""

from enum import StrEnum

from msgspec import Struct


class SandboxLevel(StrEnum):
    """Level of the sandbox. Each level includes the ones before.

    ``off``: a session of its own, an environment with listed variables only, an empty stdin. ``limits``: no way to
    more rights than the worker has (``sudo`` and similar), no core dumps. ``bubblewrap``: a restricted view of this
    machine, without its network, its other processes, and everything that the job could change.
    """

    OFF = "off"
    LIMITS = "limits"
    BUBBLEWRAP = "bubblewrap"


class Fence(Struct, frozen=True, kw_only=True):
    """Configuration of the sandbox.

    ``writable`` and ``hidden`` are absolute paths. Both, and ``network``, only have an effect with ``bubblewrap``.
    """

    level: SandboxLevel = SandboxLevel.LIMITS
    network: bool = False
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
