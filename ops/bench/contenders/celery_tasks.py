"""Celery tasks. The workers load this module, and so does the process that enqueues the tasks.

A fan is a chord between two tasks. Layers are a chain of groups. Celery keeps their barriers in its result backend.
"""

import os

from celery import Celery, chain, chord, group
from celery.canvas import Signature

from sluice.ops.bench.shapes import CHAIN, CHILDREN, LAYERS, WIDTH
from sluice.ops.bench.timestamps import marker

mark = marker()
app = Celery("bench", broker=os.environ["BENCH_BROKER_URL"], backend=os.environ["BENCH_RESULTS_URL"])
app.conf.update(
    task_default_queue=os.environ["BENCH_QUEUE"],
    task_acks_late=True,
    worker_prefetch_multiplier=4,
    broker_transport_options={"confirm_publish": True},
    broker_connection_retry_on_startup=True,
    task_ignore_result=False,
)
OF_A_FAN = CHILDREN + 2


@app.task(ignore_result=True)
def flat(n: int) -> None:
    mark(n)


@app.task(ignore_result=True)
def hop(n: int) -> None:
    mark(n)
    if n + 1 < CHAIN:
        hop.delay(n + 1)


@app.task
def part(n: int) -> None:
    mark(n)


def fan(number: int) -> Signature:
    first = number * OF_A_FAN
    children = group(part.si(first + 1 + n) for n in range(CHILDREN))
    return chain(part.si(first), chord(children, part.si(first + CHILDREN + 1)))


def layers() -> Signature:
    return chain(*(group(part.si(layer * WIDTH + n) for n in range(WIDTH)) for layer in range(LAYERS)))
