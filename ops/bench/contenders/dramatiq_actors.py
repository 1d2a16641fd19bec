"""Actors of plain dramatiq. Its own worker command loads this module, and so does the process that sends the messages.

A chain is an actor that sends the next message. A fan is a group with a callback, and so is each layer. dramatiq
has no edges between messages, so a layer waits for the whole layer before it, which is less work than edges are.
"""

import os

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend

from sluice.ops.bench.shapes import CHAIN, CHILDREN, LAYERS, WIDTH
from sluice.ops.bench.timestamps import marker

mark = marker()
_URL = os.environ["BENCH_BROKER_URL"]
if _URL.startswith("redis"):
    broker: dramatiq.Broker = RedisBroker(url=_URL)
else:
    broker = RabbitmqBroker(url=_URL, confirm_delivery=os.environ["BENCH_CONFIRMED"] == "yes")
broker.add_middleware(GroupCallbacks(RedisBackend(url=os.environ["BENCH_RESULTS_URL"])))
dramatiq.set_broker(broker)
OF_A_FAN = CHILDREN + 2


@dramatiq.actor(queue_name="bench_dramatiq")
def flat(n: int) -> None:
    mark(n)


@dramatiq.actor(queue_name="bench_dramatiq")
def chain(n: int) -> None:
    mark(n)
    if n + 1 < CHAIN:
        chain.send(n + 1)


@dramatiq.actor(queue_name="bench_dramatiq")
def root(fan: int) -> None:
    mark(fan * OF_A_FAN)
    children = dramatiq.group([flat.message(fan * OF_A_FAN + 1 + n) for n in range(CHILDREN)])
    children.add_completion_callback(flat.message(fan * OF_A_FAN + CHILDREN + 1))
    children.run()


@dramatiq.actor(queue_name="bench_dramatiq")
def layer(number: int) -> None:
    """Start a layer. It leaves no mark, because it is not a job of the layer."""
    cells = dramatiq.group([flat.message(number * WIDTH + n) for n in range(WIDTH)])
    if number + 1 < LAYERS:
        cells.add_completion_callback(layer.message(number + 1))
    cells.run()
