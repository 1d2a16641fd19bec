"""The job on dramatiq without changes: its worker command loads this module, and it publishes when run."""

import os

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.errors import ConnectionError as Disconnected
from redis.exceptions import RedisError

from tests.ordeal.effects import work
from tests.ordeal.publishing import BROKER, is_careful, publish

_URL = os.environ[BROKER]
if _URL.startswith("redis"):
    broker: dramatiq.Broker = RedisBroker(url=_URL)
else:
    broker = RabbitmqBroker(url=_URL, confirm_delivery=is_careful())
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name="ordeal")
def job(n: int) -> None:
    work(n)


if __name__ == "__main__":
    publish(job.send, (Disconnected, dramatiq.DramatiqError, RedisError))
