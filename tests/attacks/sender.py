"""Messages as an outsider sends them: bytes on the planner's queue, in any envelope."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pika
import redis

from sluice.broker.connect import NAMESPACE
from sluice.broker.messages import PLANNER


class Sender:
    """Connection to the broker. It is open until the end of its ``with`` block."""

    def __init__(self, url: str) -> None:
        self._stack = ExitStack()
        if url.startswith("redis"):
            self._redis: redis.Redis | None = self._stack.enter_context(redis.Redis.from_url(url))
        else:
            self._redis = None
            connection = self._stack.enter_context(pika.BlockingConnection(pika.URLParameters(url)))
            self._channel = connection.channel()
            self._channel.confirm_delivery()

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def submits(self, request: Mapping[str, Any]) -> str:
        """Send a submission. Return its id, which is that of the message if it has none of its own."""
        id_ = str(uuid4())
        self.puts(json.dumps(envelope(request, id_)).encode(), id_)
        return str(request.get("id", id_))

    def puts(self, body: bytes, id: str = "") -> None:
        if self._redis is None:
            self._channel.basic_publish("", PLANNER, body, pika.BasicProperties(delivery_mode=2))
            return
        id_ = id or str(uuid4())
        with self._redis.pipeline() as both:
            both.hsetnx(f"{NAMESPACE}:{PLANNER}.msgs", id_, body)
            both.rpush(f"{NAMESPACE}:{PLANNER}", id_)
            both.execute()


def envelope(kwargs: Mapping[str, Any], id: str, actor: str = "submit") -> dict[str, Any]:
    return {
        "queue_name": PLANNER,
        "actor_name": actor,
        "args": [],
        "kwargs": kwargs,
        "options": {},
        "message_id": id,
        "message_timestamp": int(time.time() * 1000),
    }
