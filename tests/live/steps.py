"""Apps that make partitions: one fails first, one loses its worker, one exceeds its timeout, one is keyed by day."""

import os
import signal
import time
from datetime import date
from pathlib import Path

from sluice import app, each

EVENTS = [{"table": "events", "start_offset": 1}]


@app(output_table="sums", step_size=2, table_dependencies=EVENTS, max_fails=1)
def sums(job):
    if job.round == 0:
        raise ValueError("the table is locked")


@app(output_table="trends", step_size=2, table_dependencies=[{"table": "sums"}])
def trends(job):
    if job.claim == 1:
        # A killed process loses the events that it has not sent yet. So wait until the server has received the first.
        while not Path(os.environ["HEARD"]).exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)


@app(output_table="late", isolate=True, timeout="100ms", table_dependencies=[{"table": "events"}])
def late(job):
    while True:
        pass


@app(output_table="visits", max_fails=1)
def count(job, day: date, shop: str = each(["graz", "oslo"])):
    if job.round == 0 and shop == "oslo":
        raise ValueError("no answer")


@app(output_table="visitors", table_dependencies=[{"table": "visits"}])
def visitors(): ...
