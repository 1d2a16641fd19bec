"""Health of a broker: the results of an examination."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct


class QueueHealth(Struct, frozen=True, kw_only=True):
    """A queue: the number of waiting messages, dead letters and consumers. ``differs`` is the difference from the
    arguments of Sluice's queues, in RabbitMQ's words."""

    queue: str
    exists: bool = True
    waiting: int = 0
    dead: int = 0
    consumers: int | None = None
    differs: str = ""


class Ruled(Struct, frozen=True):
    """The effective definition that policies result in for a queue."""

    queue: str
    policy: str
    words: dict[str, str | int | bool]


class ClusterNode(Struct, frozen=True):
    """A member of RabbitMQ's cluster and its alarms."""

    name: str
    running: bool
    memory_alarm: bool
    disk_alarm: bool


class Management(Struct, frozen=True):
    """Facts that only the management API has. ``why`` is the reason if it has none."""

    place: str
    why: str = ""
    nodes: Sequence[ClusterNode] = ()
    ruled: Sequence[Ruled] = ()


class RabbitmqHealth(Struct, frozen=True):
    """Health of a RabbitMQ. ``blocked`` is the reason why publishers have to wait, or empty."""

    place: str
    version: str
    blocked: str
    lines: Sequence[QueueHealth]
    management: Management


class RedisHealth(Struct, frozen=True, kw_only=True):
    """Health of a Redis. ``saves`` is None if the user may not read that setting. ``failed_save``: the last save did
    not succeed."""

    place: str
    version: str
    appends: bool
    saves: bool | None
    failed_save: bool
    follows: bool
    bytes_used: int
    bytes_max: int
    eviction: str
    lines: Sequence[QueueHealth]


Health: TypeAlias = RabbitmqHealth | RedisHealth
