"""Examination of a Redis: whether it persists its data, how much memory it has, and the messages in its queues."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from sluice.broker.address import Address
from sluice.broker.health import QueueHealth, RedisHealth
from sluice.broker.log import one_line
from sluice.broker.redis.keys import RedisKeys
from sluice.jobs.errors import BadSetting, Unreachable

CONNECT_S_MAX = 3.0
ANSWER_S_MAX = 4.0


def examine(address: Address, queues: Sequence[str], *, namespace: str) -> RedisHealth:
    try:
        client: Any = redis.Redis.from_url(
            address.url,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=ANSWER_S_MAX,
            socket_connect_timeout=CONNECT_S_MAX,
        )
    except ValueError as error:
        raise BadSetting(f"The address {address} cannot be used: {one_line(error)}.") from None
    with closing(client):
        try:
            return _health(client, address, queues, RedisKeys(namespace, worker=""))
        except redis.RedisError as error:
            raise Unreachable(
                f"Redis cannot be used: {one_line(error).rstrip('.')}.",
                where=str(address),
                advice="Start it, check its memory, or correct SLUICE_BROKER_URL.",
            ) from None


def _health(client: Any, address: Address, queues: Sequence[str], keys: RedisKeys) -> RedisHealth:
    told: dict[str, Any] = client.info()
    return RedisHealth(
        place=str(address),
        version=str(told["redis_version"]),
        appends=bool(told.get("aof_enabled")),
        saves=_saves(client),
        failed_save=told.get("rdb_last_bgsave_status", "ok") != "ok"
        or told.get("aof_last_write_status", "ok") != "ok",
        follows=told.get("role") == "slave",
        bytes_used=int(told.get("used_memory", 0)),
        bytes_max=int(told.get("maxmemory", 0)),
        eviction=str(told.get("maxmemory_policy", "")),
        lines=[_line(client, queue, keys) for queue in queues],
    )


def _line(client: Any, queue: str, keys: RedisKeys) -> QueueHealth:
    return QueueHealth(
        queue=queue, waiting=client.llen(keys.waiting(queue)), dead=client.zcard(keys.dead(queue))
    )


def _saves(client: Any) -> bool | None:
    """Return whether Redis writes all data to disk from time to time. None if it does not allow the question, as a
    managed Redis may."""
    try:
        return bool(client.config_get("save").get("save"))
    except redis.ResponseError:
        return None
