"""Procrastinate tasks, loaded by its own worker command. A chain is a task that defers the next task.

A process that has loaded this module leaves a mark with its own process ID.
"""

import os

from procrastinate import App, PsycopgConnector

from sluice.ops.bench.shapes import CHAIN
from sluice.ops.bench.timestamps import marker

mark = marker()
app = App(connector=PsycopgConnector(conninfo=os.environ["BENCH_LEDGER_URL"]))


@app.task(name="flat")
async def flat(n: int) -> None:
    mark(n)


@app.task(name="hop")
async def hop(n: int) -> None:
    mark(n)
    if n + 1 < CHAIN:
        await hop.defer_async(n=n + 1)


mark(os.getpid())
