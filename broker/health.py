"""How a broker is: what an examination of it comes to."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct


class Line(Struct, frozen=True, kw_only=True):
    """A queue: what waits in it and beside it, and how many take from it. ``differs`` is why it is not as ours are
    made, in RabbitMQ's words."""

    queue: str
    exists: bool = True
    waiting: int = 0
    dead: int = 0
    consumers: int | None = None
    differs: str = ""


class Ruled(Struct, frozen=True):
    """What policies have come to for a queue."""

    queue: str
    policy: str
    words: dict[str, str | int | bool]


class Node(Struct, frozen=True):
    """A member of RabbitMQ's cluster and its alarms."""

    name: str
    running: bool
    memory_alarm: bool
    disk_alarm: bool


class Management(Struct, frozen=True):
    """What only the management API tells; ``why`` it tells nothing."""

    place: str
    why: str = ""
    nodes: Sequence[Node] = ()
    ruled: Sequence[Ruled] = ()


class RabbitmqHealth(Struct, frozen=True):
    """``blocked`` is why publishers have to wait; empty where they need not."""

    place: str
    version: str
    blocked: str
    lines: Sequence[Line]
    management: Management


class RedisHealth(Struct, frozen=True, kw_only=True):
    """``saves`` is None where we may not ask how it saves. ``failed_save``: the last one did not succeed."""

    place: str
    version: str
    appends: bool
    saves: bool | None
    failed_save: bool
    follows: bool
    bytes_used: int
    bytes_max: int
    eviction: str
    lines: Sequence[Line]


Health: TypeAlias = RabbitmqHealth | RedisHealth
